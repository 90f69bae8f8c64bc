import BackstitchCore

/// The types that fields have, by record type: those of the first values that were saved.
struct FieldTypes: Sendable {
    private var kinds: [String: [String: SimulatedFieldKind]] = [:]

    /// What is wrong with the types of an operation's fields; notes those that are new otherwise.
    mutating func violation(of operation: RecordModification) -> ServiceError? {
        guard let (recordType, fields) = operation.typedFields else { return nil }
        for (name, value) in fields {
            guard let known = kinds[recordType]?[name], !known.holds(value) else { continue }
            let given = SimulatedFieldKind(value)?.name ?? "LIST"
            return ServiceError(
                .invalidRequest,
                "invalid attempt to set value type \(given) for field '\(name)' for type "
                    + "'\(recordType)', defined to be: \(known.name)")
        }
        note(operation)
        return nil
    }

    /// Takes over the types of fields that are new.
    mutating func note(_ operation: RecordModification) {
        guard let (recordType, fields) = operation.typedFields else { return }
        for (name, value) in fields where kinds[recordType]?[name] == nil {
            guard let kind = SimulatedFieldKind(value) else { continue }
            kinds[recordType, default: [:]][name] = kind
        }
    }
}

extension RecordModification {
    fileprivate var typedFields: (recordType: String, fields: NamedFields)? {
        switch self {
        case .create(_, let recordType, let fields), .update(_, let recordType, _, let fields):
            (recordType, fields)
        case .delete: nil
        }
    }
}

extension ModificationResult {
    var isFailure: Bool {
        if case .failed = self { true } else { false }
    }
}
