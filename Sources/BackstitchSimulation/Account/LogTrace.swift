import BackstitchCore
import BackstitchStore

/// The operations of a record, for a person to read.
enum LogTrace {
    static func lines(of recordName: String, _ reader: TableReader) throws -> [String] {
        var lines: [String] = []
        try reader.log.visit(from: 1) { operation in
            guard try operation.key.name.description == recordName else { return true }
            lines.append(try line(operation, reader.catalog))
            return true
        }
        return lines
    }

    private static func line(
        _ operation: OperationView, _ catalog: CatalogSnapshot
    ) throws -> String {
        var line = "\(operation.sequence) \(operation.origin) \(operation.kind)"
        if let stamp = operation.stamp {
            line += " tag '\(stamp.changeTag)' through \(stamp.acknowledgedThrough)"
        }
        if unsafe operation.conflictBytes != nil { line += " with a conflict" }
        if operation.kind == .park { line += " \(operation.parkReason)" }
        if operation.isTombstone { line += " of its end" }
        guard operation.kind.changesContent, operation.kind != .delete, !operation.isTombstone,
            let table = catalog.table(operation.entity)
        else { return line }
        let fields = try Fields(operation.after)
        let names = fields.map { entry in
            let text = "\(entry.value)"
            return (table.attribute(entry.field)?.name ?? "?") + "=" + text.prefix(24)
        }
        return line + " " + names.joined(separator: " ")
    }
}
