import BackstitchCore
import BackstitchLog
import BackstitchSync

@testable import BackstitchStore

extension Store {
    /// Merges a version of a record that a service would have.
    @discardableResult
    func pull(
        _ type: String, _ name: String, tag: String = "1", at milliseconds: Int64 = 1,
        policy: ConflictPolicy = .serverWins, _ fields: NamedFields
    ) async throws -> MergeResult {
        try await withLogWriter { context in
            try context.merge(
                ServiceRecord(
                    recordName: name, recordType: type, changeTag: tag,
                    modifiedMilliseconds: milliseconds, fields: fields),
                policy: ConflictSettings(ConflictRules(policy)))
        }
    }

    /// What is to be pushed, by record name.
    func pushesByName() throws -> [String: RecordFold.Push] {
        let changes = try read { try OutboxFolder($0.reader).fold(recordsMax: 1_000) }.changes
        return Dictionary(uniqueKeysWithValues: changes.map { ($0.key.description, $0.push) })
    }
}

extension LogWriter {
    /// Merges a record as an engine with a policy would.
    func merge(
        _ record: ServiceRecord, policy: ConflictSettings, isAuthoritative: Bool = false
    ) throws -> MergeResult {
        try RecordMerger(self, policy: policy).merge(record, isAuthoritative: isAuthoritative)
    }

    /// Merges the news that the service has no such record.
    func mergeAbsent(
        _ key: RecordKey, recordType: String?, policy: ConflictSettings
    ) throws -> MergeResult {
        try RecordMerger(self, policy: policy).mergeAbsent(key, recordType: recordType)
    }
}
