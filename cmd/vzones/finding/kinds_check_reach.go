package finding

// The kinds about the way to a vCenter, the account and the configuration.
var (
	NameUnresolved = &Kind{"VZ101", Error, "the vCenter's name cannot be resolved",
		"No Node of the vCenter can be placed, and no Node of any vCenter is deleted.",
		"Correct server in the configuration, or the DNS that this machine uses. The daemon uses that of its Pod."}
	NotConnected = &Kind{"VZ102", Error, "no connection to the vCenter",
		"The address refuses connections, or does not answer. No Node of the vCenter can be placed.",
		"Check server and port in the configuration, that the vCenter runs, and that no firewall is in between."}
	ProxyFails = &Kind{"VZ103", Error, "the proxy does not lead to the vCenter",
		"HTTPS_PROXY names a proxy that cannot be reached, or that does not connect to the vCenter.",
		"Correct HTTPS_PROXY, or add the vCenter to NO_PROXY. The daemon has variables of its own in its Pod."}
	TLSFails = &Kind{"VZ104", Error, "TLS with the vCenter fails",
		"What answers at the address speaks no TLS, or none from version 1.2 on.",
		"Check port in the configuration, and what is in front of the vCenter."}
	CertificateUntrusted = &Kind{"VZ105", Error, "the vCenter's certificate is not trusted",
		"Nothing is sent to a server that shows a certificate which is not trusted, credentials least of all.",
		"Compare the certificate with what the vCenter's owner says, and write its CA into caFile or caData, or its fingerprint into thumbprint."}
	CertificateEnds = &Kind{"VZ106", Warning, "the vCenter's certificate ends soon",
		"It ends within 14 days. From then on the vCenter cannot be read.",
		"Renew it on the vCenter. If the configuration has its thumbprint, write the new one there."}
	AnswersWrong = &Kind{"VZ108", Error, "what answers is not a working vCenter",
		"The address answers with an error, or not as a vCenter does. No Node of the vCenter can be placed.",
		"Look at the vCenter's own logs and services, and check server and port in the configuration."}
	NotRead = &Kind{"VZ109", Error, "the vCenter was not read in time",
		"It answers, but was not read completely within --timeout. Nothing else was checked of it.",
		"Run the command with a longer --timeout, or look at the load of the vCenter."}
	CredentialsMissing = &Kind{"VZ110", Error, "credentials are missing or cannot be read",
		"Nobody can log in to the vCenter.",
		"Put them where the configuration says: in the Secret, the directory or the file itself."}
	CredentialsRejected = &Kind{"VZ111", Error, "credentials are rejected",
		"The vCenter does not accept user and password, or the certificate. It was tried once, so that the account is not locked.",
		"Correct them. vCenter also rejects right ones while its identity source is down, or the account is locked or has expired."}
	InventoryDenied = &Kind{"VZ112", Error, "the account may not read the inventory",
		"Without System.View on the root folder nothing of the vCenter can be read.",
		"Give the account the role Read-only on the vCenter, with Propagate to children."}
	ClockSkew = &Kind{"VZ113", Warning, "the clocks differ",
		"The vCenter's clock and this machine's differ by more than a minute. From five minutes on vCenter rejects tokens and, with an identity source, passwords.",
		"Have both use NTP. The daemon's clock is that of the Node that it runs on."}
	VersionOld = &Kind{"VZ114", Warning, "the vCenter is older than 7.0",
		"vzones is not intended for it, and nobody has tried.",
		"Upgrade the vCenter."}
	NotChecked = &Kind{"VZ125", Warning, "a part could not be checked",
		"What it may have found is not among the findings.",
		"Run the command again once the reason is gone."}
	ConfigurationWarning = &Kind{"VZ190", Warning, "the configuration does not do what one might expect",
		"It is valid, and something in it has no effect or another one than it seems.",
		"Do what the text says. The tables above list all such warnings."}

	checkReach = []*Kind{
		NameUnresolved, NotConnected, ProxyFails, TLSFails, CertificateUntrusted, CertificateEnds, AnswersWrong, NotRead,
		CredentialsMissing, CredentialsRejected, InventoryDenied, ClockSkew, VersionOld,
	}
)
