import BackstitchCore

/// What a record must be like for the service to take it.
struct RecordRules: Sendable {
    var limits: ServiceLimits
    var options: SimulatedCloud.Options

    /// The fields that a record type may have; nil if all may be.
    func declaredFields(
        of recordType: String
    ) throws(ServiceError) -> [String: SimulatedFieldKind]? {
        guard ServiceNames.isIdentifier(recordType) else {
            throw ServiceError(.invalidRequest, "not a record type name")
        }
        guard let schema = options.declaredSchema else { return nil }
        guard let fields = schema[recordType] else {
            throw ServiceError(.invalidRequest, "did not find record type: \(recordType)")
        }
        return fields
    }

    /// Checks the name and the value of a field.
    func check(
        _ value: ServiceValue, of name: String, declared: [String: SimulatedFieldKind]?
    ) throws(ServiceError) {
        guard ServiceNames.isIdentifier(name) else {
            throw ServiceError(.invalidRequest, "not a field name")
        }
        guard value.isWellFormed else {
            throw ServiceError(.invalidRequest, "not a value of one type: \(name)")
        }
        guard let declared else { return }
        guard let kind = declared[name] else {
            throw ServiceError(.invalidRequest, "cannot create or modify field '\(name)'")
        }
        guard kind.holds(value) else {
            throw ServiceError(
                .invalidRequest, "invalid value, expected type \(kind.name)")
        }
    }
}

extension ServiceValue {
    /// Whether the value is one that a service can keep: finite numbers, places on earth, names of
    /// records, lists of one type.
    var isWellFormed: Bool {
        switch self {
        case .double(let number): number.isFinite
        case .location(let location): location.place.isValid
        case .reference(let reference): ServiceNames.isRecordName(reference.recordName)
        case .list(let elements, _):
            elements.allSatisfy { element in
                guard case .value? = SimulatedFieldKind(element) else { return false }
                return element.scalarType == elements.first?.scalarType && element.isWellFormed
            }
        case .unknown(let value): ServiceNames.isIdentifier(value.typeName)
        default: true
        }
    }

    /// Adds the references of this value that the service acts upon.
    func collectLinks(into links: inout [RecordLink]) {
        switch self {
        case .reference(let reference)
        where reference.action == .deleteSelf || reference.action == .validate:
            let link = RecordLink(
                target: reference.recordName, isValidating: reference.action == .validate)
            if !links.contains(link) { links.append(link) }
        case .list(let elements, _):
            guard case .reference = elements.first else { return }
            for element in elements { element.collectLinks(into: &links) }
        default: break
        }
    }

    /// Whether the value is a reference or a list of them.
    var holdsReferences: Bool {
        switch self {
        case .reference: true
        case .list(let elements, _): elements.first?.holdsReferences ?? false
        default: false
        }
    }
}
