#ps1

# Boot script of Windows servers: configures the guest agent, names the computer and restarts it.

$agentFolder = 'C:\Murano\Agent'
$agentConfig = '%AGENT_CONFIG_BASE64%'
$rootCertificate = '%CA_ROOT_CERT_BASE64%'
$serverAddress = '%MURANO_SERVER_ADDRESS%'
$computerName = '%INTERNAL_HOSTNAME%'

$ErrorActionPreference = 'Stop'

function Write-Decoded([string] $Base64, [string] $Path) {
    [System.IO.File]::WriteAllBytes($Path, [System.Convert]::FromBase64String($Base64))
}

New-Item -ItemType Directory -Force -Path $agentFolder | Out-Null

$service = Get-Service -Name 'Murano Agent' -ErrorAction SilentlyContinue
if ($service -ne $null) {
    Stop-Service -Name 'Murano Agent' -Force
    Set-Service -Name 'Murano Agent' -StartupType Automatic
}

Write-Decoded $agentConfig (Join-Path $agentFolder 'WindowsAgent.exe.config')
[Environment]::SetEnvironmentVariable('MuranoFileShare', "\\$serverAddress\share", 'Machine')

if ($rootCertificate -ne '') {
    $certificateFile = Join-Path $env:TEMP 'murano-ca.crt'
    Write-Decoded $rootCertificate $certificateFile
    $certificate = New-Object System.Security.Cryptography.X509Certificates.X509Certificate2 $certificateFile
    $store = New-Object System.Security.Cryptography.X509Certificates.X509Store 'AuthRoot', 'LocalMachine'
    $store.Open('ReadWrite')
    $store.Add($certificate)
    $store.Close()
    Remove-Item $certificateFile
}

# Names of computers have at most 15 characters.
if ($computerName.Length -gt 15) {
    $computerName = $computerName.Substring(0, 15)
}
if ($computerName -ne '' -and $env:COMPUTERNAME -ne $computerName) {
    Rename-Computer -NewName $computerName -Force
}

Restart-Computer -Force
