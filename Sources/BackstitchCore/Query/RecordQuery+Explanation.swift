import Foundation

extension RecordQuery {
    /// How a store answers a query, in words: what it reads, what it leaves out, how it sorts.
    public struct Explanation: Hashable, Sendable, CustomStringConvertible {
        /// The steps in order, each in one line such as "index age ≥ 30 and < 40".
        public let steps: [String]

        package init(steps: [String]) {
            self.steps = steps
        }

        /// The steps, one a line.
        public var description: String { steps.joined(separator: "\n") }
    }
}

extension QueryPlan {
    /// The plan in words.
    package var explanation: RecordQuery.Explanation {
        var lines = lookups + [accessLine + (estimate.map { ", about \($0) entries" } ?? "")]
        if case .all(let parts) = filter {
            lines.append("filter \(parts.count) conditions")
        } else if filter != nil {
            lines.append("filter 1 condition")
        }
        switch ordering {
        case .asRead: break
        case .groups:
            lines.append(
                steps.count > 1
                    ? "sort records with the same \(stepNames.prefix(1).joined()) by "
                        + stepNames.dropFirst().joined(separator: ", ")
                    : "sort records with the same \(stepNames.joined()) by record key")
        case .inMemory:
            let names = steps.isEmpty ? "record key" : stepNames.joined(separator: ", ")
            lines.append("sort in memory by \(names)")
        }
        if offset > 0 { lines.append("skip \(offset)") }
        if let limit { lines.append("stop after \(limit)") }
        return RecordQuery.Explanation(steps: lines)
    }

    private var stepNames: [String] {
        steps.map {
            ($0.attribute?.name ?? $0.related?.text ?? "record key")
                + ($0.isReversed ? " descending" : "")
        }
    }

    private var accessLine: String {
        switch access {
        case .nothing: return "nothing can match"
        case .scan(let bounds, let isReversed):
            return "scan \(entity.name)" + (bounds == .all ? "" : " within bounds of the key")
                + (isReversed ? " backwards" : "")
        case .records(let keys):
            return keys.count == 1 ? "record \(keys[0])" : "\(keys.count) records by key"
        case .referrers(let attribute, let targets):
            return targets.count == 1
                ? "inverse \(attribute.name) = \(targets[0])"
                : "inverse \(attribute.name) of \(targets.count) records"
        case .combined(let source): return source.text
        case .index(let attribute, _, let isReversed):
            let several = attribute.place.map { ($0.rest.isEmpty && $0.prefix.isEmpty) } == false
            let terms = answered.map { several ? $0.namedRangeText : $0.rangeText }
                .joined(separator: " and ")
            return "index \(attribute.indexText(in: entity))"
                + (terms.isEmpty ? "" : " \(terms)") + (isReversed ? " backwards" : "")
        }
    }
}

extension KeySource {
    /// The source in words.
    fileprivate var text: String {
        switch self {
        case .index(let attribute, _): "index \(attribute.placeText)"
        case .referrers(let attribute, _): "inverse \(attribute.name)"
        case .records(let keys): "\(keys.count) records by key"
        case .union(let parts): "any of (" + parts.map(\.text).joined(separator: ", ") + ")"
        case .intersection(let parts): "all of (" + parts.map(\.text).joined(separator: ", ") + ")"
        }
    }
}

extension AttributeBinding {
    /// The index in words, by the names of its attributes.
    fileprivate func indexText(in entity: EntityBinding) -> String {
        guard let place, let index = entity.indexes.first(where: { $0.number == place.number })
        else { return name }
        let names = index.parts.map(\.name).joined(separator: ", ")
        return index.parts.count == 1 ? names : "(\(names))"
    }

    /// The attribute in words, where it stands in an index of several.
    fileprivate var placeText: String {
        guard let place, !place.prefix.isEmpty else { return name }
        return "\(name) behind others"
    }
}

extension Condition {
    /// The condition as the range of an index of several attributes.
    fileprivate var namedRangeText: String {
        let operand: Operand? =
            switch self {
            case .comparison(let left, _, _), .isNull(let left), .not(.isNull(let left)),
                .membership(let left, _), .prefix(let left, _):
                left
            default: nil
            }
        guard case .attribute(let name) = operand else { return rangeText }
        return "\(name) \(rangeText)"
    }

    /// The condition as the range of an index, without the attribute's name.
    fileprivate var rangeText: String {
        switch self {
        case .comparison(_, let comparison, .constant(let value)):
            "\(comparison.rawValue) \(value.shortText)"
        case .isNull: "= nil"
        case .not(.isNull): "≠ nil"
        case .membership(_, let values): "in \(values.count) values"
        case .prefix(_, .constant(let value)): "starting with \(value.shortText)"
        default: "matching"
        }
    }
}

extension RecordValue {
    /// The value in a few words.
    fileprivate var shortText: String {
        switch self {
        case .null: "nil"
        case .list, .unknown: "\(self)"
        default: traits?.text(of: self) ?? "nil"
        }
    }
}
