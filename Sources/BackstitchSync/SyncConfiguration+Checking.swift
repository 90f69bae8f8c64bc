import BackstitchCore

/// Mistakes that no later try mends: they are told before anything is exchanged.
extension SyncConfiguration {
    /// What makes the configuration one that can't work, and what to do; nil if nothing does.
    var violation: String? {
        if let violation = Self.violation(ofZoneName: zoneName) { return violation }
        if !ServiceNames.isRecordName(subscriptionID) {
            return "subscriptionID is '\(subscriptionID)'. Give the subscription "
                + Self.nameRule
        }
        if conflictResolver == nil, let place = conflictRules.firstResolver {
            return "The conflict policy of \(place) is resolver, and there is no resolver. Set "
                + "conflictResolver, or choose another policy."
        }
        if recordsPerPass < 1 {
            return "recordsPerPass is \(recordsPerPass), so that nothing would ever be pushed. "
                + "Set it to 1 at least."
        }
        return nil
    }

    static func violation(ofZoneName name: String) -> String? {
        guard !ServiceNames.isRecordName(name) else { return nil }
        return "zoneName is '\(name)'. Give the zone \(nameRule)"
    }

    private static let nameRule =
        "a name of 1 to \(ServiceNames.byteCountMax) printable ASCII characters that does not "
        + "begin with an underscore."
}

extension ConflictRules {
    /// Which rule asks for a resolver; nil if they don't.
    fileprivate var firstResolver: String? {
        if policy.innermost == .resolver { return "the store" }
        return entities.filter { $0.value.policy?.innermost == .resolver }.keys.min()
    }
}
