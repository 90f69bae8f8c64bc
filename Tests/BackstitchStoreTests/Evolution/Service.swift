import BackstitchCore

@testable import BackstitchStore

extension Store {
    /// Merges a version of a record that a service would have.
    @discardableResult
    func pull(
        _ type: String, _ name: String, tag: String = "1", at milliseconds: Int64 = 1,
        policy: ConflictPolicy = .serverWins, _ fields: [String: ServiceValue]
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
        let changes = try read { try $0.reader.foldOutbox(recordsMax: 1_000) }.changes
        return Dictionary(uniqueKeysWithValues: changes.map { ($0.key.description, $0.push) })
    }
}
