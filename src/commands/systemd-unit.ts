/** The second is for several shops: `pds@SHOP.service`. */
export const unitNames = { one: "pds.service", each: "pds@.service" } as const;

export interface UnitOptions {
  readonly program: readonly string[];
  readonly isTemplate: boolean;
}

/**
 * Forbids everything that the service does not need. The runtime's compiler needs memory that is
 * both writable and executable.
 */
export function toUnit({ program, isTemplate }: UnitOptions): string {
  // Also the name of the user: by default, all services of a template have the same one.
  const name = isTemplate ? "pds-%i" : "pds";
  return `# Change this service with "systemctl edit": upgrades replace this file.
[Unit]
Description=Product data service${isTemplate ? " for %i" : ""}
Wants=network-online.target
After=network-online.target
# A store that is away for long is no reason to give up.
StartLimitIntervalSec=0

[Service]
Type=exec
ExecStart=${toCommand([...program, "serve"])}
# The service stops its jobs itself.
KillMode=mixed
Restart=always
RestartSec=2
# An invalid setting, and a store that another version made: a restart does not help.
RestartPreventExitStatus=2 3

DynamicUser=yes
User=${name}
# A folder of credentials that is missing is created: systemd fails to load it, and does not say why.
ConfigurationDirectory=${name}/credentials
ConfigurationDirectoryMode=0700
StateDirectory=${name}
WorkingDirectory=%S/${name}
Environment=PDS_CONFIG=%E/${name}/pds.toml
# Each file is a secret with the name of its setting, such as ADMIN_TOKEN. The folder is loaded as a
# whole: a list of files would fail where one is missing.
LoadCredential=pds:%E/${name}/credentials

CapabilityBoundingSet=
LockPersonality=yes
NoNewPrivileges=yes
PrivateDevices=yes
PrivateTmp=yes
PrivateUsers=yes
ProtectClock=yes
ProtectControlGroups=yes
ProtectHome=yes
ProtectHostname=yes
ProtectKernelLogs=yes
ProtectKernelModules=yes
ProtectKernelTunables=yes
ProtectProc=invisible
ProtectSystem=strict
RemoveIPC=yes
# The C library resolves names with AF_NETLINK.
RestrictAddressFamilies=AF_INET AF_INET6 AF_UNIX AF_NETLINK
RestrictNamespaces=yes
RestrictRealtime=yes
RestrictSUIDSGID=yes
SystemCallArchitectures=native
SystemCallErrorNumber=EPERM
SystemCallFilter=@system-service
UMask=0077

[Install]
WantedBy=multi-user.target
`;
}

/** systemd expands specifiers and variables, but no variables in the path of the program. */
function toCommand([program = "", ...words]: readonly string[]): string {
  return [quote(program), ...words.map((word) => quote(word.replaceAll("$", "$$$$")))].join(" ");
}

function quote(word: string): string {
  const expanded = word.replaceAll("%", "%%");
  return /^[\w./%$-]+$/.test(expanded) ? expanded : `"${expanded.replace(/["\\]/g, "\\$&")}"`;
}
