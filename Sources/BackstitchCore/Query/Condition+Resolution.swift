import Foundation

extension Condition {
    /// The condition with its names checked and its constants in the attributes' types.
    ///
    /// - Throws: ``QueryError`` with code `unknownAttribute`, `typeMismatch`, or
    ///   `unsupportedExpression`.
    func resolved(in entity: EntityBinding) throws -> Condition {
        switch self {
        case .constant: return self
        case .comparison(let left, let comparison, let right):
            let (leftType, rightType) = (try left.type(in: entity), try right.type(in: entity))
            try Self.require(leftType, matches: rightType, entity: entity)
            if comparison.isOrder, let type = leftType ?? rightType, !type.isOrdered {
                throw QueryError.withoutOrder(
                    "asks what is less or greater than \(left.subject ?? right.subject ?? "a value")",
                    type, in: entity)
            }
            return .comparison(
                try left.resolved(in: entity, as: rightType)
                    .derived(as: right, comparison, in: entity),
                comparison,
                try right.resolved(in: entity, as: leftType)
                    .derived(as: left, comparison, in: entity))
        case .isNull(let operand): return .isNull(try operand.resolved(in: entity))
        case .membership(let operand, let values):
            let type = try operand.type(in: entity)
            let derivation = try operand.derivation(in: entity)
            return .membership(
                try operand.resolved(in: entity),
                try values.map { value in
                    let value = try value.required(as: type, entity: entity)
                    return derivation?.apply(value) ?? value
                })
        case .contains(let list, let element) where try list.type(in: entity)?.element != nil:
            return .contains(list, try element.resolvedElement(of: list, in: entity))
        case .contains(let text, let part):
            try Self.requireText(text, part, entity: entity)
            return .contains(
                try text.resolved(in: entity),
                try part.resolved(in: entity).derived(as: text, .equal, in: entity))
        case .prefix(let text, let part):
            try Self.requireText(text, part, entity: entity)
            return .prefix(
                try text.resolved(in: entity),
                try part.resolved(in: entity).derived(as: text, .equal, in: entity))
        case .anyElement(let list, let condition):
            guard let type = try list.type(in: entity)?.element else {
                throw QueryError(
                    .typeMismatch,
                    "A query of \(entity.name) asks for the elements of something that is no list. "
                        + "Ask a list attribute.")
            }
            return .anyElement(
                try list.resolved(in: entity),
                try condition.typingElements(type).resolved(in: entity))
        case .referrers(let relation, let condition, let comparison, let number):
            let (other, _) = try entity.referrers(by: relation)
            return .referrers(
                relation, try condition.resolved(in: other).simplified(), comparison, number)
        case .all(let parts): return .all(try parts.map { try $0.resolved(in: entity) })
        case .any(let parts): return .any(try parts.map { try $0.resolved(in: entity) })
        case .not(let condition): return .not(try condition.resolved(in: entity))
        case .test(let operand):
            try Self.require(try operand.type(in: entity), matches: .bool, entity: entity)
            return .test(try operand.resolved(in: entity))
        case .conditional(let test, let yes, let no):
            return .conditional(
                try test.resolved(in: entity), try yes.resolved(in: entity),
                try no.resolved(in: entity))
        }
    }

    private static func require(
        _ left: AttributeType?, matches right: AttributeType?, entity: EntityBinding
    ) throws {
        guard let left, let right, left.comparable != right.comparable else { return }
        throw QueryError(
            .typeMismatch,
            "A query of \(entity.name) compares a \(left) with a \(right). Compare values of one "
                + "type.")
    }

    private static func requireText(
        _ text: Operand, _ part: Operand, entity: EntityBinding
    ) throws {
        for operand in [text, part] {
            let type = try operand.type(in: entity)
            guard type == nil || type == .string || type == .url else {
                throw QueryError(
                    .typeMismatch,
                    "A query of \(entity.name) looks for text in something else. Only text "
                        + "attributes can be asked what they contain or start with.")
            }
        }
    }
}

extension AttributeType {
    /// The type for all types whose stored values compare with one another.
    var comparable: AttributeType {
        switch self {
        case .int16, .int32, .int64: .int64
        case .float, .double: .double
        case .string, .url: .string
        default: self
        }
    }
}

extension AttributeType {
    /// Whether values of the type have a number of characters, bytes or elements.
    fileprivate var hasCount: Bool {
        switch self {
        case .string, .url, .data: true
        default: element != nil
        }
    }
}

extension RecordValue {
    /// The value as an attribute of `type` has it; throws if it is not of that type.
    func required(as type: AttributeType?, entity: EntityBinding) throws -> RecordValue {
        guard let type else { return self }
        guard let value = converted(to: type) else {
            throw QueryError(
                .typeMismatch,
                "A query of \(entity.name) compares a \(type) with \(self). Compare values of one "
                    + "type.")
        }
        return value.rounded(as: type)
    }

    /// The value as it would be saved; of what can't be, itself.
    private func rounded(as type: AttributeType) -> RecordValue {
        if case .list(let elements) = self, let type = type.element {
            return .list(elements.map { $0.rounded(as: type) })
        }
        return (try? type.traits?.saved(self)) ?? self
    }
}

extension Operand {
    /// The name of the attribute that the operand is or is made of, if it is just one.
    fileprivate var subject: String? {
        switch self {
        case .attribute(let name): name
        case .unwrapped(let operand), .chained(_, let operand), .count(let operand):
            operand.subject
        case .related(let name, let operand): operand.subject.map { "\(name).\($0)" }
        case .coalesce(let first, let second): first.subject ?? second.subject
        default: nil
        }
    }
}

extension Operand {
    /// What is made of the stored values of an attribute, if the operand is one.
    fileprivate func derivation(in entity: EntityBinding) throws -> Derivation? {
        switch self {
        case .attribute(let name): try entity.attribute(named: name).derivation
        case .related(let name, let operand):
            try operand.derivation(in: entity.target(of: name))
        default: nil
        }
    }

    /// A constant as it compares with a derived attribute: folded; and for being equal to a period, its beginning.
    fileprivate func derived(
        as other: Operand, _ comparison: Comparison, in entity: EntityBinding
    ) throws -> Operand {
        guard case .constant(let value) = self,
            let derivation = try other.derivation(in: entity)
        else { return self }
        if case .period = derivation, comparison.isOrder { return self }
        return .constant(derivation.apply(value))
    }

    /// The type of an operand's values; nil for constants, which take that of the other side.
    func type(in entity: EntityBinding) throws -> AttributeType? {
        switch self {
        case .constant: return nil
        case .attribute(let name): return try entity.attribute(named: name).type
        case .recordKey: return .reference
        case .condition: return .bool
        case .count: return .int64
        case .related(let name, let operand):
            return try operand.type(in: entity.target(of: name))
        case .element(_, let type): return type
        case .arithmetic(_, _, _, let type): return type
        case .unwrapped(let operand): return try operand.type(in: entity)
        case .coalesce(let first, let second):
            return try first.type(in: entity) ?? second.type(in: entity)
        case .chained(_, let operand): return try operand.type(in: entity)
        case .conditional(_, let yes, let no):
            return try yes.type(in: entity) ?? no.type(in: entity)
        }
    }

    /// The operand with its names checked and its constants in their types.
    fileprivate func resolved(
        in entity: EntityBinding, as type: AttributeType? = nil
    ) throws -> Operand {
        switch self {
        case .constant(let value): return .constant(try value.required(as: type, entity: entity))
        case .attribute(let name):
            _ = try entity.attribute(named: name)
            return self
        case .recordKey, .element: return self
        case .related(let name, let operand):
            return .related(
                name, try operand.resolved(in: entity.target(of: name), as: type))
        case .condition(let condition): return .condition(try condition.resolved(in: entity))
        case .arithmetic(let operation, let left, let right, let type):
            return .arithmetic(
                operation, try left.resolved(in: entity, as: type),
                try right.resolved(in: entity, as: type), type)
        case .coalesce(let first, let second):
            let type = try type ?? self.type(in: entity)
            return .coalesce(
                try first.resolved(in: entity, as: type),
                try second.resolved(in: entity, as: type))
        case .conditional(let test, let yes, let no):
            let type = try type ?? self.type(in: entity)
            return .conditional(
                try test.resolved(in: entity), try yes.resolved(in: entity, as: type),
                try no.resolved(in: entity, as: type))
        case .chained(let first, let second):
            return .chained(
                try first.resolved(in: entity), try second.resolved(in: entity, as: type))
        case .unwrapped(let operand):
            return .unwrapped(try operand.resolved(in: entity, as: type))
        case .count(let operand):
            if let type = try operand.type(in: entity), !type.hasCount {
                throw QueryError(
                    .typeMismatch,
                    "A query of \(entity.name) asks for the count of a \(type). Text, data and lists "
                        + "have one.")
            }
            return .count(try operand.resolved(in: entity))
        }
    }
}
