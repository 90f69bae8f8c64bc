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
    /// The identity of the store that this one was copied from; nil if it is no copy.
    public var copiedFrom: UUID?
    /// The greatest version of the schemas that the store was opened with; nil is 0.
    package internal(set) var schemaVersion: Int?
    /// The entities in order of their numbers.
    public internal(set) var entities: [CatalogEntity]
    /// The zones beside the store's own in order of their slots, those that ended included until their slots are
    /// given again.
    package internal(set) var zones: [CatalogZone] = []

    /// The catalog of a new store.
    public init(storeID: UUID) {
        formatVersion = Self.formatVersion
        self.storeID = storeID
        entities = []
    }

    /// The catalog of a new store with entities that are known; nil if they contradict one another.
    package init?(storeID: UUID, entities: [CatalogEntity]) {
        self.init(storeID: storeID)
        self.entities = entities
        let names = entities.flatMap { [$0.name] + $0.attributes.map(\.name) }
        let areNamed = names.allSatisfy { !$0.isEmpty && $0.utf8.count <= Self.nameBytesMax }
        guard isWellFormed, areNamed, entities.count <= Self.numberMax,
            entities.allSatisfy({ $0.attributes.count <= Self.numberMax })
        else { return nil }
    }
}

/// An entity in a store's catalog.
public struct CatalogEntity: Hashable, Sendable, Codable {
    /// The number that keys and operations carry.
    public let number: EntityNumber
    /// The entity's name, and its record type on the service.
    public let name: String
    /// Whether a schema declares it, and none of a greater version came without it.
    public internal(set) var isDeclared: Bool
    /// The attributes in order of their field ids.
    public internal(set) var attributes: [CatalogAttribute]
    /// The indexes that the schema declares apart from an attribute, in the order of their numbers; left out if there are
    /// none.
    package var indexes: [CatalogIndex]?
    /// Whether the schema changed since all records were asked whether it can read them.
    package var needsExamination: Bool?
    /// Whether the last examination left out records that can't be marked yet, because they are
    /// parked or to be made again on the service.
    package var hasUnexamined: Bool?

    /// The attribute of a field's name.
    public func attribute(named name: String) -> CatalogAttribute? {
        attributes.first { $0.name == name }
    }
}

/// An attribute in a store's catalog.
public struct CatalogAttribute: Hashable, Sendable, Codable {
    /// The number that rows and operations carry.
    public let field: FieldID
    /// The name of its field on the service, which is the attribute's first name.
    public let name: String
    /// Its description in the newest schema that declared it, with what other versions demand besides; nil if
    /// none ever declared it.
    public internal(set) var schema: AttributeSchema?
    /// Whether a schema declares it, and none of a greater version came without it.
    public internal(set) var isDeclared: Bool
    /// Whether its index is being built, and is of no use to queries yet.
    package var isBuilding: Bool?

    /// The name that the schema gives it, or its field's if none declares it.
    public var attributeName: String { isDeclared ? schema?.name ?? name : name }

    /// Whether a row without the attribute can't be read.
    package var isMandatory: Bool { isDeclared && schema?.isMandatory == true }
}

extension Catalog {
    /// The most fields of an entity and the most entities, unknown ones of the service included.
    package static let numberMax = 5_000
    /// The numbers that are given to names which no schema declares end here; the rest is for those
    /// that one does, so that what the service has never keeps a schema from being taken over.
    package static let undeclaredMax = 4_000
    /// The most bytes of a name.
    package static let nameBytesMax = 255

    /// Whether names are unique and numbers count up from 1, as they do unless it is damaged.
    package var isWellFormed: Bool {
        let areNumbered = entities.enumerated().allSatisfy { index, entity in
            Int(entity.number.rawValue) == index + 1
                && Set(entity.attributes.map(\.name)).count == entity.attributes.count
                && entity.attributes.enumerated().allSatisfy { Int($1.field.rawValue) == $0 + 1 }
        }
        return areNumbered && hasWellFormedZones
            && Set(entities.map(\.name)).count == entities.count
    }

    /// The position of an entity, numbering it if it is new; nil if there is no number left.
    ///
    /// - Parameter max: The most entities that there may be for that.
    package mutating func intern(entity name: String, max: Int = Self.numberMax) -> Int? {
        if let index = entities.firstIndex(where: { $0.name == name }) { return index }
        guard entities.count < max else { return nil }
        let number = EntityNumber(UInt16(entities.count + 1))
        entities.append(
            CatalogEntity(number: number, name: name, isDeclared: false, attributes: []))
        return entities.count - 1
    }

    /// The position of an attribute, numbering it if it is new; nil if there is no number left.
    package mutating func intern(attribute name: String, inEntityAt index: Int) -> Int? {
        let attributes = entities[index].attributes
        if let found = attributes.firstIndex(where: { $0.name == name }) { return found }
        guard attributes.count < Self.numberMax else { return nil }
        let field = FieldID(UInt16(attributes.count + 1))
        entities[index].attributes.append(
            CatalogAttribute(field: field, name: name, schema: nil, isDeclared: false))
        return attributes.count
    }

    /// Numbers names that the service delivered and that an entity does not have, in their order, as
    /// far as there are numbers for them.
    ///
    /// - Complexity: O(*n*) in the names.
    package mutating func add(attributes names: [String], toEntityAt index: Int) {
        let room = max(0, Self.undeclaredMax - entities[index].attributes.count)
        for name in names.prefix(room) {
            let field = FieldID(UInt16(entities[index].attributes.count + 1))
            entities[index].attributes.append(
                CatalogAttribute(field: field, name: name, schema: nil, isDeclared: false))
        }
    }

    /// Numbers types that the service delivered and that the catalog does not have, in their order, as
    /// far as there are numbers for them.
    ///
    /// - Complexity: O(*n*) in the names.
    package mutating func add(entities names: [String]) {
        let room = max(0, Self.undeclaredMax - entities.count)
        for name in names.prefix(room) {
            let number = EntityNumber(UInt16(entities.count + 1))
            entities.append(
                CatalogEntity(number: number, name: name, isDeclared: false, attributes: []))
        }
    }

    /// Notes that the indexes of an entity are complete and its records examined.
    package mutating func endWork(of entity: EntityNumber) {
        let index = Int(entity.rawValue) - 1
        entities[index].needsExamination = nil
        for position in entities[index].attributes.indices {
            entities[index].attributes[position].isBuilding = nil
        }
        for position in (entities[index].indexes ?? []).indices {
            entities[index].indexes?[position].isBuilding = nil
        }
    }

    /// Notes whether the examination left out records that can't be marked yet.
    package mutating func noteUnexamined(ofEntityAt index: Int, _ hasUnexamined: Bool?) {
        entities[index].hasUnexamined = hasUnexamined
    }

    /// Notes that the records of an entity are to be examined.
    package mutating func beginExamination(ofEntityAt index: Int) {
        entities[index].needsExamination = true
    }

    /// Notes that all indexes of an entity are to be built and its records examined.
    package mutating func beginWork(ofEntityAt index: Int) {
        entities[index].needsExamination = true
        for position in entities[index].attributes.indices {
            let attribute = entities[index].attributes[position]
            guard attribute.isDeclared, attribute.schema?.isIndexed == true else { continue }
            entities[index].attributes[position].isBuilding = true
        }
        for position in (entities[index].indexes ?? []).indices {
            entities[index].indexes?[position].isBuilding = true
        }
    }
}
