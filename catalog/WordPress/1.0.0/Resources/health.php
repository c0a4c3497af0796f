<?php
// Whether this server reaches the database: 200 or 503.
require '/etc/wordpress/config-default.php';
mysqli_report(MYSQLI_REPORT_OFF);
[$host, $port] = explode(':', DB_HOST);
$connection = mysqli_init();
$connection->options(MYSQLI_OPT_CONNECT_TIMEOUT, 3);
$well = @$connection->real_connect($host, DB_USER, DB_PASSWORD, DB_NAME, (int) $port);
http_response_code($well ? 200 : 503);
header('Content-Type: text/plain');
echo $well ? "well\n" : "the database does not answer\n";
