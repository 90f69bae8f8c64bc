import BackstitchCore
import CloudKitWire

extension ZoneChangesPage {
    /// A page as the protocol has it.
    ///
    /// A record that can't be read is among the failures. Of a record that the page has more than once, the last
    /// item counts; that it ended before is among the deletions too.
    /// - Parameter fields: The fields that were asked for; nil for all.
    /// - Throws: A failure that is of no single record.
    init(_ wire: FeedPage<PulledRecord>, _ fields: Set<String>?) throws(ServiceError) {
        self.init(records: [], deletions: [], token: wire.syncToken, moreComing: wire.moreComing)
        records.reserveCapacity(wire.records.count)
        // The names of which the end came last.
        var ended: Set<String> = []
        for item in wire.records {
            switch item {
            case .value(let record) where record.isDeleted:
                guard let name = record.recordName else { continue }
                deletions.append(
                    ServiceDeletion(recordName: name, recordType: record.recordType))
                ended.insert(name)
                failures[name] = nil
            case .value(let record):
                do throws(ServiceError) {
                    let found = try ServiceRecord(record, requestedFields: fields)
                    records.append(found)
                    if !ended.isEmpty { ended.remove(found.recordName) }
                    if !failures.isEmpty { failures[found.recordName] = nil }
                } catch {
                    guard let name = record.recordName else { throw error }
                    failures[name] = error
                }
            case .failure(.record(let name?), let error):
                let failure = ServiceError(error)
                // The end of the zone is no matter of one record.
                guard failure.code.scope != .zone else { throw failure }
                failures[name] = failure
            // The token would leave this record out for good, and nothing names it.
            case .failure(_, let error): throw ServiceError(error)
            }
        }
        if !ended.isEmpty { records.removeAll { ended.contains($0.recordName) } }
    }
}
