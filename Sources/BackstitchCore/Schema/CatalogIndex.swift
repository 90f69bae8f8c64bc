/// An index of several attributes, or of folded texts, in a store's catalog.
public struct CatalogIndex: Hashable, Sendable, Codable {
    /// An attribute as the index has it.
    package struct Part: Hashable, Sendable, Codable {
        package let field: FieldID
        /// Whether case and accents of its text don't count; left out if they do.
        package let isFolded: Bool?
    }

    /// The number that its keys carry.
    package let number: UInt16
    package let parts: [Part]
    /// The version of the tables that it is folded by; left out if nothing in it is.
    package var folding: Int?
    /// Whether it is being built, and is of no use to queries yet.
    package var isBuilding: Bool?
}

extension CatalogEntity {
    /// What decides which entries an index has; nil if one of its attributes is not declared.
    package func plan(of index: CatalogIndex) -> String? {
        let parts = index.parts.map { part in
            let attribute = attributes.first { $0.field == part.field }
            guard let attribute, attribute.isDeclared, let schema = attribute.schema else {
                return String?.none
            }
            return "\(schema.type) \(String(describing: schema.defaultValue))"
        }
        guard !parts.contains(nil) else { return nil }
        return parts.compactMap { $0 }.joined(separator: ", ")
            + " folded by \(index.folding.map(String.init) ?? "nothing")"
    }
}

extension CatalogEntity {
    /// An index in words, such as `Person(city, fold(name))`.
    package func text(of index: CatalogIndex) -> String {
        let names = index.parts.map { part in
            let name = attributes.first { $0.field == part.field }?.attributeName ?? "?"
            return part.isFolded == true ? Derivation.folded.name(of: name) : name
        }
        return "\(self.name)(\(names.joined(separator: ", ")))"
    }
}

extension Catalog {
    /// The attributes whose indexes are being built, as `Entity.attribute`, and such indexes of several.
    package var indexesBeingBuilt: [String] {
        var names: [String] = []
        for entity in entities {
            for attribute in entity.attributes where attribute.isBuilding == true {
                names.append("\(entity.name).\(attribute.attributeName)")
            }
            for index in entity.indexes ?? [] where index.isBuilding == true {
                names.append(entity.text(of: index))
            }
        }
        return names
    }
}

/// An index with its attributes, looked up once.
package struct TableIndex: Sendable {
    package struct Part: Sendable {
        package let attribute: CatalogAttribute
        package let type: AttributeType
        package let isFolded: Bool
        /// What a row without the attribute is in the index under.
        package let defaultValue: RecordValue
    }

    package let index: CatalogIndex
    package let parts: [Part]
    /// The most escaped bytes that a key keeps of each text.
    package let textBytesMax: Int

    /// Nil if an attribute of the index is not declared.
    init?(_ index: CatalogIndex, of entity: CatalogEntity) {
        self.index = index
        var parts: [Part] = []
        for part in index.parts {
            let attribute = entity.attributes.first { $0.field == part.field }
            guard let attribute, attribute.isDeclared, let schema = attribute.schema else {
                return nil
            }
            let isFolded = part.isFolded == true
            let value = schema.defaultValue ?? .null
            parts.append(
                Part(
                    attribute: attribute, type: schema.type, isFolded: isFolded,
                    defaultValue: isFolded ? Derivation.folded.apply(value) : value))
        }
        self.parts = parts
        textBytesMax = OrderedKey.textBytesMax(of: parts.map(\.type))
    }

    /// Appends the values of a row, in the order of the parts.
    ///
    /// - Parameter value: The stored value of a field; nil if the row lacks the field, so that the default counts.
    package func appendValues(
        to output: inout ByteBuffer, _ value: (FieldID) throws -> _FieldValue?
    ) rethrows {
        for part in parts {
            let stored = try value(part.attribute.field)
            if let stored, part.isFolded {
                OrderedKey.appendFolded(stored, to: &output, textBytesMax: textBytesMax)
            } else if let stored {
                OrderedKey.append(
                    stored, type: part.type, to: &output, textBytesMax: textBytesMax)
            } else {
                OrderedKey.append(
                    part.defaultValue, type: part.type, to: &output, textBytesMax: textBytesMax)
            }
        }
    }

    /// The bytes of the values at the start of `bytes`; nil if the bytes hold no such values.
    package func byteCount(in bytes: UnsafeRawBufferPointer) -> Int? {
        var count = 0
        for part in parts {
            let rest = unsafe bytes.part(min(count, bytes.count)..<bytes.count)
            guard
                let next = unsafe OrderedKey.byteCount(
                    of: part.type, in: rest, textBytesMax: textBytesMax)
            else { return nil }
            count += next
        }
        return count
    }

    /// What queries must know of it; nil while it is being built, if it is folded by other tables, or if it has
    /// other values than the attributes.
    func binding(in attributes: [AttributeBinding]) -> IndexBinding? {
        let isFoldedOtherwise = index.folding.map { $0 != TextFolding.version } ?? false
        guard index.isBuilding != true, !isFoldedOtherwise else { return nil }
        var bindings: [AttributeBinding] = []
        for part in parts {
            let stored = part.attribute.schema?.defaultValue ?? .null
            guard let own = attributes.first(where: { $0.field == part.attribute.field }),
                own.type == part.type,
                own.defaultValue == stored.converted(to: part.type) ?? .null
            else { return nil }
            bindings.append(
                part.isFolded ? AttributeBinding(own, .folded, type: .string) : own)
        }
        return IndexBinding(number: index.number, parts: bindings)
    }
}
