extension AttributeSchema {
    private enum Key: String, CodingKey {
        case name, fieldName, type, isOptional, hasDefault, defaultValue, isIndexed, isUnique
        case isLocalOnly, isNotUploaded, isNotDownloaded, allowedValues, isLossless, reference
        case isExternal, isAfterwards
    }

    /// Reads an attribute of a stored catalog; what it does not say has not been declared.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: Key.self)
        func flag(_ key: Key) throws -> Bool {
            try container.decodeIfPresent(Bool.self, forKey: key) ?? false
        }
        let isLocalOnly = try flag(.isLocalOnly)
        self.init(
            name: try container.decode(String.self, forKey: .name),
            type: try container.decode(AttributeType.self, forKey: .type),
            isOptional: try flag(.isOptional), hasDefault: try flag(.hasDefault),
            defaultValue: try container.decodeIfPresent(RecordValue.self, forKey: .defaultValue),
            isIndexed: try flag(.isIndexed), isLossless: try flag(.isLossless),
            reference: try container.decodeIfPresent(ReferenceSchema.self, forKey: .reference),
            fieldName: try container.decodeIfPresent(String.self, forKey: .fieldName),
            isUnique: try flag(.isUnique),
            isUploaded: try !isLocalOnly && !flag(.isNotUploaded),
            isDownloaded: try !isLocalOnly && !flag(.isNotDownloaded),
            allowedValues: try container.decodeIfPresent(
                [RecordValue].self, forKey: .allowedValues),
            isExternal: try flag(.isExternal), isAfterwards: try flag(.isAfterwards))
    }

    /// Writes an attribute to a catalog. Rare properties are written only if the attribute has
    /// them.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Key.self)
        try container.encode(name, forKey: .name)
        try container.encode(type, forKey: .type)
        try container.encode(isOptional, forKey: .isOptional)
        try container.encode(hasDefault, forKey: .hasDefault)
        try container.encodeIfPresent(defaultValue, forKey: .defaultValue)
        try container.encode(isIndexed, forKey: .isIndexed)
        try container.encode(isLossless, forKey: .isLossless)
        try container.encodeIfPresent(reference, forKey: .reference)
        if fieldName != name { try container.encode(fieldName, forKey: .fieldName) }
        if isUnique { try container.encode(isUnique, forKey: .isUnique) }
        switch (isUploaded, isDownloaded) {
        case (true, true): break
        case (false, false): try container.encode(true, forKey: .isLocalOnly)
        case (false, true): try container.encode(true, forKey: .isNotUploaded)
        case (true, false): try container.encode(true, forKey: .isNotDownloaded)
        }
        try container.encodeIfPresent(allowedValues, forKey: .allowedValues)
        if isExternal { try container.encode(isExternal, forKey: .isExternal) }
        if isAfterwards { try container.encode(isAfterwards, forKey: .isAfterwards) }
    }
}
