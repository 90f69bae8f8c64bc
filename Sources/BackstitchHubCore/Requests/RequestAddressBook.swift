import Threading

/// Targets of requests that were read a moment ago: a device calls the same few again and again.
///
/// What was read follows from the text alone, so that nothing here ever gets old. It holds what the targets
/// hold, tokens among them, until others take their place.
final class RequestAddressBook: Sendable {
    /// The most targets; then all are forgotten.
    private static let targetsMax = 2_048
    /// The most bytes of a target that is kept.
    private static let targetBytesMax = 1_024

    private let addresses = Locked<[String: RequestAddress]>([:])

    /// The address that a target spells; nil if it can't be read.
    func address(_ target: String) -> RequestAddress? {
        guard target.utf8.count <= Self.targetBytesMax else { return RequestAddress(target) }
        if let known = addresses.withLock({ $0[target] }) { return known }
        guard let address = RequestAddress(target) else { return nil }
        // A page has no tokens in its path that come again, and little to read.
        guard address.endpoint != nil || address.page?.answerAtOnce != nil else { return address }
        addresses.withLock { addresses in
            if addresses.count >= Self.targetsMax { addresses = [:] }
            addresses[target] = address
        }
        return address
    }
}
