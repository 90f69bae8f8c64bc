public import BackstitchCore
import CloudKitWire
import Foundation

extension CloudKitRecordService {
    /// Applies operations to the records of one zone, see `RecordService`.
    ///
    /// Records over the limit of bytes are refused here, and not sent. Conflicts come with the record
    /// as the service has it: it is looked up if the reply lacks it. If a proxy takes no request of the size
    /// that one record needs, this record alone fails, with `serviceUnavailable`.
    public func modifyRecords(
        _ modifications: [RecordModification], in zone: ZoneID, atomic: Bool
    ) async throws(ServiceError) -> [ModificationResult] {
        try await modify(modifications, in: zone, atomic: atomic, token: nil).results
    }

    /// Applies operations, and replaces the token of the zone's feed if a hub gives another one.
    public func modifyRecords(
        _ modifications: [RecordModification], in zone: ZoneID, atomic: Bool,
        token: inout String
    ) async throws(ServiceError) -> [ModificationResult] {
        let known = connection.extensions.contains(.tokenAfterModify) ? token : nil
        let (results, next) = try await modify(
            modifications, in: zone, atomic: atomic, token: known)
        if known != nil, let next { token = next }
        return results
    }

    private func modify(
        _ modifications: [RecordModification], in zone: ZoneID, atomic: Bool, token: String?
    ) async throws(ServiceError) -> (results: [ModificationResult], token: String?) {
        try check(count: modifications.count)
        var batch = try ModifyBatch(modifications, isAtomic: atomic, currentLimits)
        guard batch.mustBeSent else { return (batch.results, nil) }
        let request = RecordModifications(
            batch.operations, zoneID: WireZoneID(zone), isAtomic: atomic,
            options: RecordOptions(desiredKeys: []), syncToken: token)
        do throws(ServiceError) {
            let reply: RecordPage<PulledRecord> = try await connection.call(
                .modifyRecords, database, request, requestID: UUID().uuidString)
            try batch.take(reply)
            try await completeFailures(in: &batch, zone)
            return (batch.results, reply.syncToken)
        } catch {
            guard batch.takeRefusalOfOne(error) else { throw error }
            return (batch.results, nil)
        }
    }

    /// Looks up the records of failures that say more with them.
    private func completeFailures(
        in batch: inout ModifyBatch, _ zone: ZoneID
    ) async throws(ServiceError) {
        let names = batch.namesToLookUp
        guard !names.isEmpty else { return }
        for (name, item) in zip(names, try await items(names, in: zone)) {
            guard case .value(let record) = item, !record.isDeleted else { continue }
            batch.complete(name, with: record, recordBytesMax: currentLimits.recordBytes)
        }
    }

    /// Reads records by name.
    public func lookUpRecords(
        _ recordNames: [String], in zone: ZoneID
    ) async throws(ServiceError) -> [LookupResult] {
        try check(count: recordNames.count)
        var results: [LookupResult] = []
        results.reserveCapacity(recordNames.count)
        for item in try await items(recordNames, in: zone) {
            switch item {
            case .value(let record) where record.isDeleted: results.append(.notFound)
            case .value(let record): results.append(LookupResult(record))
            case .failure(_, let error):
                let failure = ServiceError(error)
                results.append(failure.code == .unknownItem ? .notFound : .failed(failure))
            }
        }
        return results
    }

    /// The answers to names. A hub tells those that its reply has no room for, and these are asked for
    /// again, for as long as others are answered.
    private func items(
        _ recordNames: [String], in zone: ZoneID
    ) async throws(ServiceError) -> [WireItem<PulledRecord>] {
        var items = try await page(of: recordNames, in: zone)
        var left = items.indices.filter { items[$0].hasNoRoom }
        var asked = recordNames.count
        while !left.isEmpty, left.count < asked {
            asked = left.count
            let others = try await page(of: left.map { recordNames[$0] }, in: zone)
            for (index, item) in zip(left, others) { items[index] = item }
            left = left.filter { items[$0].hasNoRoom }
        }
        return items
    }

    private func page(
        of recordNames: [String], in zone: ZoneID
    ) async throws(ServiceError) -> [WireItem<PulledRecord>] {
        let request = LookupRecordsRequest(
            records: recordNames.map { .init(recordName: $0) }, zoneID: WireZoneID(zone))
        let reply: RecordPage<PulledRecord> = try await connection.call(
            .lookupRecords, database, request)
        guard reply.records.count == recordNames.count else { throw ServiceError.wrongCount }
        return reply.records
    }

    private func check(count: Int) throws(ServiceError) {
        let max = currentLimits.operationsPerRequest
        guard count <= max else {
            throw ServiceError(.limitExceeded, "a request names \(count) items of \(max)")
        }
    }
}

extension ServiceError {
    /// Of a reply with more or fewer answers than the request has items.
    static let wrongCount = ServiceError(.serviceUnavailable, "the reply does not answer each item")

    /// Of a reply that names another record in the place of one that was sent.
    static let wrongItem = ServiceError(
        .serviceUnavailable, "the reply names other records than the request, or in another order")
}

extension WireItem<PulledRecord> {
    /// The record that an answer is about; nil if it names none.
    var recordName: String? {
        switch self {
        case .value(let record): record.recordName
        case .failure(.record(let name), _): name
        case .failure: nil
        }
    }
}

extension WireItem {
    /// Whether the reply had no room for the item.
    fileprivate var hasNoRoom: Bool {
        if case .failure(_, let error) = self { error.code == .limitExceeded } else { false }
    }
}
