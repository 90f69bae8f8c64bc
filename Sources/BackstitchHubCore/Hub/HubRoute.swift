import CloudKitWire
import Threading

/// What the target of a request leads to: a page or a call, or nothing.
final class HubRoute: RequestRoute {
    /// The page that the target names; nil if it names none.
    let page: HubPage?
    /// How the hub answers the call that the target names; nil if it names none.
    let endpoint: HubEndpoint?
    /// What was stored about a head with this target when it was looked up last.
    let facts = Locked<Admissions.KnownFacts?>(nil)

    init(_ page: HubPage?, _ endpoint: HubEndpoint?) {
        (self.page, self.endpoint) = (page, endpoint)
    }
}

extension RequestAddress {
    /// Reads a target with what it leads to; nil if it can't be read.
    static func routed(_ target: String) -> RequestAddress? {
        RequestAddress(target) { path in
            HubRoute(HubPage.at(target), path.flatMap { HubEndpoint.at($0.endpoint) })
        }
    }

    /// What it leads to; nil if that was not found out.
    var hubRoute: HubRoute? { route as? HubRoute }

    /// The page that the target names; nil if it names none.
    var page: HubPage? { hubRoute?.page }

    /// How the hub answers the call that the target names; nil if it names none.
    var endpoint: HubEndpoint? { hubRoute?.endpoint }
}

extension HubRequest {
    /// The target as it was read, with what it leads to; nil if it can't be read.
    var address: RequestAddress? { knownAddress ?? RequestAddress.routed(target) }
}

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
        guard target.utf8.count <= Self.targetBytesMax else { return .routed(target) }
        if let known = addresses.withLock({ $0[target] }) { return known }
        guard let address = RequestAddress.routed(target) else { return nil }
        // A page has little to read, and addresses of couriers and files are many.
        guard address.endpoint != nil || address.page?.answerAtOnce != nil else { return address }
        addresses.withLock { addresses in
            if addresses.count >= Self.targetsMax { addresses = [:] }
            addresses[target] = address
        }
        return address
    }
}
