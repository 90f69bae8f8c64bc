public import BackstitchCore

/// The type of a field in a declared schema.
public enum SimulatedFieldKind: Hashable, Sendable {
    /// One value.
    case value(ServiceFieldType)
    /// A list of values.
    case list(ServiceFieldType)

    /// The type of a value; nil for null, for an empty list, for a list of lists, and for values of a type that this version does not know.
    public init?(_ value: ServiceValue) {
        let list: [ServiceValue]? = if case .list(let elements, _) = value { elements } else { nil }
        guard let type = (list?.first ?? value).scalarType else { return nil }
        self = list == nil ? .value(type) : .list(type)
    }

    /// The name that CloudKit has for the type.
    var name: String {
        switch self {
        case .value(let type): type.rawValue
        case .list(let type): type.rawValue + ServiceFieldType.listSuffix
        }
    }

    /// Whether a field of this type takes a value; null is taken by all.
    func holds(_ value: ServiceValue) -> Bool {
        switch (self, value) {
        case (_, .null): true
        case (.list, .list(let elements, _)) where elements.isEmpty: true
        default: SimulatedFieldKind(value) == self
        }
    }
}
