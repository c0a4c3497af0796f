"""The service in the process that asks it: environments of a folder of this machine, without HTTP or a server.

`workspace` opens the folder: settings, database, who asks. `tasks` runs what is begun, in the foreground. `takeover`
reads workspaces of versions that kept environments as folders.
"""
