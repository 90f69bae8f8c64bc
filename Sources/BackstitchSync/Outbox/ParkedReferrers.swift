package import BackstitchCore
package import BackstitchLog

extension SyncMarks {
    /// Releases what was parked because a record that it refers to was not on the service, if that
    /// record is there now.
    ///
    /// Part of the transaction in which the targets arrive, so that nothing is left parked for a reason
    /// that is gone. Costs a look at each parked record.
    /// - Parameter arrived: The keys of records that the service has.
    package func releaseReferrers(to arrived: Set<RecordKey>) throws {
        guard !arrived.isEmpty else { return }
        try releaseParked { place, reason in
            guard reason.code == .referenceViolation,
                let fields = try log.reader.row(place.entity, place.key)?.fields
            else { return false }
            return try Fields(fields).contains { $0.value.refers(toAnyOf: arrived) }
        }
    }
}

extension RecordValue {
    fileprivate func refers(toAnyOf keys: Set<RecordKey>) -> Bool {
        switch self {
        case .reference(let key): keys.contains(key)
        case .list(let elements): elements.contains { $0.refers(toAnyOf: keys) }
        default: false
        }
    }
}
