import BackstitchCore
import BackstitchLog
import BackstitchStore

/// Gives files the hashes of their contents, as far as this device knows them.
///
/// So a file that comes back from the service is known for the one that was sent, and a content that was
/// added here for the one that the service calls by a checksum of its own.
struct ContentHashLookup {
    private let meta: MetaReader

    init(_ meta: MetaReader) { self.meta = meta }

    func added(to fields: Fields) throws -> Fields {
        guard fields.holdsAssets else { return fields }
        var result = fields
        for (field, value) in fields where value.holdsAssets {
            result[field] = try added(to: value)
        }
        return result
    }

    func added(to step: OperationStep) throws -> OperationStep {
        var result = step
        switch step.change {
        case .insert(let fields): result.change = .insert(try added(to: fields))
        case .update(let before, let after):
            result.change = .update(before: try added(to: before), after: try added(to: after))
        case .delete(let before): result.change = .delete(before: try added(to: before))
        }
        return result
    }

    private func added(to value: RecordValue) throws -> RecordValue {
        switch value {
        case .asset(let asset) where asset.content == nil:
            let content = try meta.content(of: asset)?.text
            return .asset(asset.adding(content: content, serviceChecksum: nil))
        case .list(let elements): return .list(try elements.map(added(to:)))
        default: return value
        }
    }
}
