import Backstitch
import BackstitchCore
import Foundation
import Terminal

/// An operation as text: a line, and one for each thing that it carries.
enum LogLines {
    /// The most characters of a value that are shown.
    static let valueCountMax = 120

    static func lines(_ operation: LoggedOperation, of store: Store) -> [String] {
        var title = [
            pad("\(operation.sequence)", to: 8, atEnd: false), operation.date.utc,
            pad("\(operation.origin)", to: 6), pad("\(operation.kind)", to: 11),
        ]
        title += [
            operation.record.entity.printable, operation.record.key.text(in: store).printable,
        ]
        if !operation.author.isEmpty { title.append("by \(operation.author.printable)") }
        var details = operation.changes.map { change -> [String] in
            [change.attribute.printable, text(change, of: operation.kind)]
        }
        if !operation.context.isEmpty {
            details.insert(["context", text(.string(operation.context))], at: 0)
        }
        if let through = operation.acknowledgedThrough {
            details.append(["acknowledged", "through operation \(through)"])
        }
        if let reason = operation.parkReason { details.append(["reason", reason.printable]) }
        if let conflict = operation.conflict {
            details.append(["conflict", "settled by \(conflict.policyName)"])
        }
        return [title.joined(separator: "  ")] + Table.lines(details, indent: 10)
    }

    private static func text(_ change: LoggedOperation.Change, of kind: OperationKind) -> String {
        let before = text(change.before)
        let after = text(change.after)
        return switch kind {
        case .insert, .baseline: after
        case .delete: before
        default: "\(before) -> \(after)"
        }
    }

    /// A value, cut if it is long.
    static func text(_ value: RecordValue?) -> String {
        switch value {
        case nil, .null: "none"
        case .string(let text): "\"\(text.printable.shortened(to: valueCountMax))\""
        case .bytes(let data): "<\(data.count.counted("byte"))>"
        case .date(let milliseconds):
            Date(timeIntervalSince1970: Double(milliseconds) / 1000).utc
        case .reference(let key): "-> \(key.description.printable)"
        case .list(let values):
            "[\(values.map { text($0) }.joined(separator: ", ").shortened(to: valueCountMax))]"
        case .unknown(let value):
            "<\(value.typeName.printable)> \(value.json.printable.shortened(to: valueCountMax))"
        case let value?: value.traits?.text(of: value) ?? "none"
        }
    }

    private static func pad(_ text: String, to count: Int, atEnd: Bool = true) -> String {
        let padding = String(repeating: " ", count: max(0, count - text.count))
        return atEnd ? text + padding : padding + text
    }
}
