public import Foundation

/// The names, numbers and types of everything a store holds, kept in the store itself.
///
/// Entities and attributes are numbered once, and no number is given twice, so that old operations
/// stay readable. Whatever the service delivered and no schema declares is numbered too: its values
/// are kept like any other and appear when a schema declares them.
public struct Catalog: Hashable, Sendable, Codable {
    /// The version of the store's format.
    public static let formatVersion = 1

    /// The version of the format that wrote the store.
    public var formatVersion: Int
    /// The identity of the store.
    public var storeID: UUID
    /// The identity of the store that this one was copied from; nil where it is no copy.
    public var copiedFrom: UUID?
    /// The entities in order of their numbers.
    public internal(set) var entities: [CatalogEntity]

    /// The catalog of a new store.
    public init(storeID: UUID) {
        formatVersion = Self.formatVersion
        self.storeID = storeID
        entities = []
    }
}

/// An entity in a store's catalog.
public struct CatalogEntity: Hashable, Sendable, Codable {
    /// The number that keys and operations carry.
    public let number: EntityNumber
    /// The entity's name, and its record type on the service.
    public let name: String
    /// Whether the schema that last opened the store declares it.
    public internal(set) var isDeclared: Bool
    /// The attributes in order of their field ids.
    public internal(set) var attributes: [CatalogAttribute]

    /// The attribute of a name.
    public func attribute(named name: String) -> CatalogAttribute? {
        attributes.first { $0.name == name }
    }
}

/// An attribute in a store's catalog.
public struct CatalogAttribute: Hashable, Sendable, Codable {
    /// The number that rows and operations carry.
    public let field: FieldID
    /// The attribute's name, and its field on the service.
    public let name: String
    /// What the schema that last declared it says; nil where none ever did.
    public internal(set) var schema: AttributeSchema?
    /// Whether the schema that last opened the store declares it.
    public internal(set) var isDeclared: Bool

    /// Whether a row without the attribute can't be read.
    package var isMandatory: Bool { isDeclared && schema?.isMandatory == true }
}

extension Catalog {
    /// The most fields of an entity and the most entities, unknown ones of the service included.
    package static let numberMax = 4_000
    /// The most bytes of a name.
    package static let nameBytesMax = 255

    /// Whether names are unique and numbers count up from 1, as they do unless it is damaged.
    package var isWellFormed: Bool {
        let areNumbered = entities.enumerated().allSatisfy { index, entity in
            Int(entity.number.rawValue) == index + 1
                && Set(entity.attributes.map(\.name)).count == entity.attributes.count
                && entity.attributes.enumerated().allSatisfy { Int($1.field.rawValue) == $0 + 1 }
        }
        return areNumbered && Set(entities.map(\.name)).count == entities.count
    }

    /// The position of an entity, numbering it if it is new; nil where there is no number left.
    package mutating func intern(entity name: String) -> Int? {
        if let index = entities.firstIndex(where: { $0.name == name }) { return index }
        guard entities.count < Self.numberMax else { return nil }
        let number = EntityNumber(UInt16(entities.count + 1))
        entities.append(
            CatalogEntity(number: number, name: name, isDeclared: false, attributes: []))
        return entities.count - 1
    }

    /// The position of an attribute, numbering it if it is new; nil where there is no number left.
    package mutating func intern(attribute name: String, inEntityAt index: Int) -> Int? {
        let attributes = entities[index].attributes
        if let found = attributes.firstIndex(where: { $0.name == name }) { return found }
        guard attributes.count < Self.numberMax else { return nil }
        let field = FieldID(UInt16(attributes.count + 1))
        entities[index].attributes.append(
            CatalogAttribute(field: field, name: name, schema: nil, isDeclared: false))
        return attributes.count
    }

    /// Takes over a schema that was validated before.
    ///
    /// - Parameters:
    ///   - isEmpty: Tells of an entity whether it has no records.
    ///   - lacks: Tells of an entity whether it has records without an attribute.
    /// - Returns: what the stored records forbid, with remedies; the catalog is then of no use.
    package mutating func adopt(
        _ schema: Schema, isEmpty: (EntityNumber) throws -> Bool,
        lacks: (EntityNumber, FieldID) throws -> Bool
    ) rethrows -> [String] {
        var violations: [String] = []
        let before = entities
        for index in entities.indices {
            entities[index].isDeclared = false
            for position in entities[index].attributes.indices {
                entities[index].attributes[position].isDeclared = false
            }
        }
        for entity in schema.entities {
            guard let index = intern(entity: entity.name) else {
                violations.append("There are more than \(Self.numberMax) entities in the store.")
                continue
            }
            entities[index].isDeclared = true
            // Records of a type that was never declared came from newer versions elsewhere: they
            // have what the type needs, and those that don't are kept unread.
            let wasDeclared = entities[index].attributes.contains { $0.schema != nil }
            let isEmpty = try !wasDeclared || isEmpty(entities[index].number)
            for attribute in entity.attributes {
                guard let position = intern(attribute: attribute.name, inEntityAt: index) else {
                    violations.append("\(entity.name) has more than \(Self.numberMax) attributes.")
                    continue
                }
                let known = entities[index].attributes[position].schema
                let name = "\(entity.name).\(attribute.name)"
                if let known, known.type != attribute.type, !isEmpty {
                    violations.append(
                        "\(name) was \(known.type) and is now \(attribute.type): keep the old type "
                            + "and give the new attribute another name.")
                }
                let wasMandatory =
                    before.indices.contains(index)
                    && before[index].attributes.indices.contains(position)
                    && before[index].attributes[position].isMandatory
                let field = entities[index].attributes[position].field
                if attribute.isMandatory, !wasMandatory, !isEmpty,
                    try lacks(entities[index].number, field)
                {
                    violations.append(
                        "\(name) must have a value, and there are records without it: make it "
                            + "optional or give it a default.")
                }
                entities[index].attributes[position].schema = attribute
                entities[index].attributes[position].isDeclared = true
            }
        }
        return violations
    }

    /// What of a catalog decides which index entries there are.
    package var indexPlan: [String] {
        entities.flatMap { entity in
            entity.attributes.compactMap { attribute in
                guard let schema = attribute.schema, attribute.isDeclared,
                    schema.isIndexed || schema.reference != nil
                else { return nil }
                let mark = schema.isIndexed ? "indexed" : "inverse"
                return "\(entity.number.rawValue).\(attribute.field.rawValue) \(mark) "
                    + "\(schema.type) \(String(describing: schema.defaultValue))"
            }
        }
    }
}
