import BackstitchCore
import CloudKitWire

/// The operations of a request that are sent, and the answers to all.
struct ModifyBatch {
    private let isAtomic: Bool
    private var answers: [ModificationResult?]
    /// The places of the operations that are sent.
    private var places: [Int] = []
    private(set) var operations: [RecordModification] = []

    /// Takes the operations that can be sent, and refuses the others.
    ///
    /// - Throws: `limitExceeded` if they are more bytes than a request may have.
    init(
        _ modifications: [RecordModification], isAtomic: Bool, _ limits: ServiceLimits
    ) throws(ServiceError) {
        self.isAtomic = isAtomic
        answers = Array(repeating: nil, count: modifications.count)
        var bytes = 0
        for (index, modification) in modifications.enumerated() {
            do throws(ServiceError) {
                let operation = try modification.checked()
                let count = operation.countedBytes
                guard count <= limits.recordBytes else {
                    throw ServiceError(
                        .limitExceeded,
                        "a record has \(count) bytes of \(limits.recordBytes)")
                }
                bytes += count
                operations.append(operation)
                places.append(index)
            } catch {
                answers[index] = .failed(error)
            }
        }
        guard bytes <= limits.requestBytes else {
            throw ServiceError(
                .limitExceeded, "a request has \(bytes) bytes of \(limits.requestBytes)")
        }
    }

    /// Whether there is something to send: of an atomic request all or nothing.
    var mustBeSent: Bool {
        !operations.isEmpty && !(isAtomic && operations.count < answers.count)
    }

    var results: [ModificationResult] {
        answers.map {
            $0
                ?? .failed(
                    ServiceError(.batchFailed, "another record of the batch failed"))
        }
    }

    /// Takes the answers to what was sent.
    mutating func take(_ reply: RecordPage<PulledRecord>) throws(ServiceError) {
        guard reply.records.count == operations.count else {
            throw ServiceError.wrongCount
        }
        for (index, item) in reply.records.enumerated() {
            if let name = item.recordName, name != operations[index].recordName {
                throw ServiceError.wrongItem
            }
            answers[places[index]] = try Self.result(item, operations[index])
        }
    }

    /// Takes the failure of a request with one operation as that of its record, if something before the
    /// service refused the body. The request can't be made smaller, and the service said nothing of the
    /// record: it is to be sent again later, and others may go.
    ///
    /// - Returns: Whether it was taken.
    mutating func takeRefusalOfOne(_ error: ServiceError) -> Bool {
        guard places.count == 1, error.code == .limitExceeded, error.cause is ForeignAnswer else {
            return false
        }
        var failure = error
        failure.code = .serviceUnavailable
        answers[places[0]] = .failed(failure)
        return true
    }

    private static func result(
        _ item: WireItem<PulledRecord>, _ operation: RecordModification
    ) throws(ServiceError) -> ModificationResult {
        switch item {
        case .value(let record)
        where record.flaw == nil && (record.isDeleted || operation.isDelete):
            return .deleted
        case .value(let record):
            let saved = try ServiceRecord(record)
            return .saved(
                changeTag: saved.changeTag, modifiedMilliseconds: saved.modifiedMilliseconds)
        case .failure(_, let error):
            var record: ServiceRecord?
            if let serverRecord = error.serverRecord { record = try ServiceRecord(serverRecord) }
            return .failed(ServiceError(error, record: record))
        }
    }

    /// The names of the records of conflicts that came without them, and of those that may have
    /// grown too large.
    var namesToLookUp: [String] {
        places.enumerated().compactMap { index, place in
            guard case .failed(let error) = answers[place] else { return nil }
            let isConflict = error.code == .conflict || error.code == .alreadyExists
            let mayBeTooLarge = error.code == .quotaExceeded && operations[index].isUpdate
            guard isConflict && error.serverRecord == nil || mayBeTooLarge else { return nil }
            return operations[index].recordName
        }
    }

    /// Completes the failures of a record by what the service has of it.
    ///
    /// A service has one code for a user whose space is used up and for a record that is too large.
    /// The latter concerns no other record, so it is reported as `limitExceeded`.
    mutating func complete(_ name: String, with record: PulledRecord, recordBytesMax: Int) {
        for (index, place) in places.enumerated()
        where operations[index].recordName == name {
            guard case .failed(var error) = answers[place] else { continue }
            if error.code == .quotaExceeded {
                let bytes = operations[index].countedBytes(over: record)
                guard bytes > recordBytesMax else { continue }
                error.code = .limitExceeded
            } else {
                // One that can't be read is left out, and holds up this record alone.
                guard let record = try? ServiceRecord(record) else { continue }
                error.serverRecord = record
            }
            answers[place] = .failed(error)
        }
    }
}
