/// An index over several attributes of an entity, or over a text without case and accents.
///
/// An entity declares its indexes in a static property; one over a single attribute as it is stored is
/// declared by `@Attribute(.indexed)`.
///
/// ```swift
/// @Entity struct Person {
///     static let indexes: [EntityIndex<Person>] = [
///         EntityIndex(\.city, \.born),
///         EntityIndex(.insensitive(\.name)),
///     ]
///     var id = ID()
///     var name: String
///     var city: String?
///     var born: Date
/// }
/// ```
///
/// An index over `city` and `born` answers a condition that fixes the city and, of that, a range of `born`
/// or the order by it. Each costs a save about what an index of one attribute does, and is built in the
/// background after it was added, see ``Store/prepareIndexes(progress:)``.
///
/// Programs from before these indexes refuse a store that has one.
public struct EntityIndex<Model: Entity>: Sendable {
    /// The most attributes of an index.
    public static var partsMax: Int { IndexSchema.partsMax }

    /// An attribute as an index has it.
    public struct Part: Sendable {
        let keyPath: any PartialKeyPath<Model> & Sendable
        let isFolded: Bool

        /// An attribute as it is stored, in the order of its values.
        public static func exact<Attribute: OrderedAttributeValue>(
            _ keyPath: any KeyPath<Model, Attribute> & Sendable
        ) -> Part {
            Part(keyPath: keyPath, isFolded: false)
        }

        /// A text without case and accents.
        public static func insensitive<Attribute: _TextAttributeValue>(
            _ keyPath: any KeyPath<Model, Attribute> & Sendable
        ) -> Part {
            Part(keyPath: keyPath, isFolded: true)
        }
    }

    private let parts: [Part]

    /// An index over parts, in their order: at most ``partsMax``.
    public init(_ parts: Part...) { self.parts = parts }

    /// An index over attributes as they are stored, in their order: at most ``partsMax``.
    public init<each Attribute: OrderedAttributeValue>(
        _ keyPaths: repeat any KeyPath<Model, each Attribute> & Sendable
    ) {
        var parts: [Part] = []
        for keyPath in repeat each keyPaths {
            parts.append(Part(keyPath: keyPath, isFolded: false))
        }
        self.parts = parts
    }

    /// The same by names.
    var schema: IndexSchema {
        IndexSchema(
            parts: parts.map { part in
                let position = Model.attributeIndexes[part.keyPath]
                return IndexSchema.Part(
                    attribute: position.map { Model.entitySchema.attributes[$0].name },
                    isFolded: part.isFolded)
            })
    }
}

extension Entity {
    /// The indexes over several attributes, and over texts without case and accents; none unless the type
    /// declares some.
    public static var indexes: [EntityIndex<Self>] { [] }
}

/// An index by names.
package struct IndexSchema: Hashable, Sendable {
    /// The most attributes of an index, so that its keys have room for the starts of texts.
    package static let partsMax = 4

    /// An attribute as an index has it.
    package struct Part: Hashable, Sendable {
        /// Nil for a key path that is no stored attribute.
        package let attribute: String?
        package let isFolded: Bool
    }

    package let parts: [Part]
}

extension IndexSchema {
    /// What is wrong with an index of an entity; nil if nothing is.
    func violation(in entity: EntitySchema) -> String? {
        let name = "An index of \(entity.name)"
        guard (1...Self.partsMax).contains(parts.count) else {
            return "\(name) has \(parts.count) attributes: give it 1 to \(Self.partsMax)."
        }
        for part in parts {
            guard let attribute = entity.attributes.first(where: { $0.name == part.attribute })
            else { return "\(name) is over a key path that is no stored attribute: name one." }
            guard attribute.type.isOrdered else {
                return "\(name) is over \(attribute.name), a \(attribute.type), which has no order."
            }
            if part.isFolded, attribute.type != .string {
                return "\(name) folds \(attribute.name), which is no text: make it exact."
            }
        }
        if Set(parts.map(\.attribute)).count < parts.count {
            return "\(name) has an attribute twice: name it once."
        }
        if parts.count == 1, !parts[0].isFolded {
            return "\(name) is over \(parts[0].attribute ?? "one attribute") alone: write "
                + "@Attribute(.indexed) there."
        }
        return nil
    }
}
