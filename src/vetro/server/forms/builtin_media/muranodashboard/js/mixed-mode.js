// SQL Server: the password of the administrator "sa" is asked for while logins by password are allowed.
import { toggle } from "./toggling.js";

toggle("mixedModeAuth", ["saPassword", "saPassword-clone"], { when: true });
