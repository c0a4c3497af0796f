-- For wrk: sends one request over and over. Arguments: method, body. `%d` in the body becomes a number that rises with
-- each request. Standard output: after wrk's own report one line of JSON.
local method, body
local number = 0

function init(arguments)
  method, body = arguments[1], arguments[2]
  wrk.method = method
end

function request()
  if body == nil or body == "" then
    return wrk.format(method)
  end
  number = number + 1
  return wrk.format(method, nil, nil, (body:gsub("%%d", number)))
end

function done(summary, latency)
  local errors = summary.errors
  io.write(string.format(
    '{"requests":%d,"microseconds":%d,"p50":%f,"p99":%f,"refused":%d,"broken":%d}\n',
    summary.requests, summary.duration, latency:percentile(50), latency:percentile(99),
    errors.status, errors.connect + errors.read + errors.write + errors.timeout))
end
