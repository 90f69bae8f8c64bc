/// The calls about users.
struct UserCalls: Sendable {
    let configuration: HubConfiguration
}
