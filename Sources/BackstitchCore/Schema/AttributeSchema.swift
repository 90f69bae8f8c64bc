import Foundation

/// The description of a stored attribute.
public struct AttributeSchema: Hashable, Sendable, Codable {
    /// The attribute's name, that of the Swift property.
    public let name: String
    /// The name of its field on the service and in the store's catalog: the attribute's first name
    /// or its `serviceName`, which stays when the property is renamed.
    public let fieldName: String
    /// The stored type.
    public let type: AttributeType
    /// Whether nil is a value.
    public let isOptional: Bool
    /// Whether the type declares a default for rows that lack the attribute.
    public let hasDefault: Bool
    /// The default, if its expression gives the same each time: what queries see in rows that
    /// lack the attribute.
    public let defaultValue: RecordValue?
    /// Whether an index keeps records sorted by the attribute.
    public let isIndexed: Bool
    /// Whether no two records that are saved here may have the same value.
    public let isUnique: Bool
    /// Whether edits of the attribute are pushed.
    public let isUploaded: Bool
    /// Whether the service's values of the attribute are taken over.
    public let isDownloaded: Bool
    /// Whether the property is the content of the stored file, and not a file itself.
    public let isExternal: Bool
    /// Whether a record is pushed before its file is uploaded, which follows as an update.
    public let isAfterwards: Bool
    /// For enums and lists of them, the raw values of the cases; nil if every value is one.
    public let allowedValues: [RecordValue]?
    /// Whether a `Decimal` travels as text, which keeps every digit, and not as a double.
    public let isLossless: Bool
    /// For to-one relationships: the target entity, and the effect of deleting the target.
    public let reference: ReferenceSchema?

    /// Whether there is nothing to read in a row without the attribute.
    package var isMandatory: Bool { !isOptional && !hasDefault }

    /// Whether the attribute stays on this device: never pushed and never pulled.
    public var isLocalOnly: Bool { !isUploaded && !isDownloaded }

    /// An attribute by its stored properties; the field has the attribute's name unless given.
    public init(
        name: String, type: AttributeType, isOptional: Bool = false, hasDefault: Bool = false,
        defaultValue: RecordValue? = nil, isIndexed: Bool = false, isLossless: Bool = false,
        reference: ReferenceSchema? = nil, fieldName: String? = nil, isUnique: Bool = false,
        isUploaded: Bool = true, isDownloaded: Bool = true, allowedValues: [RecordValue]? = nil,
        isExternal: Bool = false, isAfterwards: Bool = false
    ) {
        self.name = name
        self.fieldName = fieldName ?? name
        self.type = type
        self.isOptional = isOptional
        self.hasDefault = hasDefault
        self.defaultValue = defaultValue
        self.isIndexed = isIndexed || isUnique
        self.isUnique = isUnique
        self.isUploaded = isUploaded
        self.isDownloaded = isDownloaded
        self.isExternal = isExternal
        self.isAfterwards = isAfterwards
        self.allowedValues = allowedValues
        self.isLossless = isLossless
        self.reference = reference
    }

    /// An attribute of a Swift type, as the `@Entity` macro declares it.
    ///
    /// - Parameters:
    ///   - originalName: The attribute's first name, if the property was renamed.
    ///   - serviceName: The name of its field, if that is not the attribute's first name.
    public init<Attribute: AttributeValue>(
        _ name: String, _ type: Attribute.Type, options: Set<AttributeSchema.Option> = [],
        originalName: String? = nil, serviceName: String? = nil, hasDefault: Bool = false,
        default value: Attribute? = nil,
        onDelete rule: DeleteRule = .nullify
    ) {
        // A list that is not there reads as an empty one.
        let isList = Attribute._attributeType.element != nil && !Attribute._isOptional
        let isExternal = options.contains(.external)
        self.init(
            name: name, type: isExternal ? .asset : Attribute._attributeType,
            isOptional: Attribute._isOptional, hasDefault: hasDefault || isList,
            // No row holds the bytes themselves.
            defaultValue: isExternal
                ? nil
                : value?._recordValue.recordable ?? (isList && !hasDefault ? .list([]) : nil),
            isIndexed: options.contains(.indexed),
            isLossless: options.contains(.lossless),
            reference: Attribute._referencedEntity.map {
                ReferenceSchema(target: $0, onDelete: rule)
            },
            fieldName: serviceName ?? originalName, isUnique: options.contains(.unique),
            isUploaded: options.isDisjoint(with: [.localOnly, .notUploaded]),
            isDownloaded: options.isDisjoint(with: [.localOnly, .notDownloaded]),
            allowedValues: Attribute._allowedValues, isExternal: isExternal,
            isAfterwards: options.contains(.afterwards))
    }

    /// Whether a stored value is one that the attribute's enum has a case for.
    package func allows(_ value: RecordValue) -> Bool {
        allowedValues.map(value.isAmong) ?? true
    }
}

extension RecordValue {
    /// The value, if a catalog can hold it: no number that is not finite.
    fileprivate var recordable: RecordValue? {
        switch self {
        case .double(let number): number.isFinite ? self : nil
        case .decimal(let number): number.isFinite ? self : nil
        case .list(let elements): elements.allSatisfy { $0.recordable != nil } ? self : nil
        default: isStorable ? self : nil
        }
    }

    /// Whether the value, or every element of it, is among values.
    func isAmong(_ values: [RecordValue]) -> Bool {
        if case .list(let elements) = self { return elements.allSatisfy(values.contains) }
        return values.contains(self)
    }
}
