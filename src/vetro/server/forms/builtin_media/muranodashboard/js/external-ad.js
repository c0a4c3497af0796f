// Active Directory: the administrator of the domain is asked for while the directory is an external one.
import { toggle } from "./toggling.js";

toggle("externalAD", ["domainAdminUserName", "domainAdminPassword", "domainAdminPassword-clone"], { when: true });
