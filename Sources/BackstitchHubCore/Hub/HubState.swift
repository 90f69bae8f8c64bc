/// What a hub keeps in its memory, unless several hubs share it.
package struct HubState: Sendable {
    package var mailboxes: any MailboxStorage = NotificationMailboxes()
    package var signIns: any SignInLimiting = SignInGate()
    package var keys: any KeyReading = KeyCache()

    /// All of it in this process.
    package init() {}
}
