/// The calls about devices, and the address where one waits for what is told.
struct DeviceCalls: Sendable {
    let configuration: HubConfiguration
    let storage: any HubStorage
    let address: HubAddress
    let mailboxes: any MailboxStorage
    let notifier: Notifier
}
