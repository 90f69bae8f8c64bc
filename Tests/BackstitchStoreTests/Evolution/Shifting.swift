import Backstitch
import BackstitchCore
import Foundation

/// An entity whose three attributes have the types that a test gives them for a while, so that a
/// random schema is one of Swift types too.
struct Shifting: Entity {
    struct Column: Hashable, Sendable {
        var type: AttributeType
        var isOptional: Bool
        var isIndexed: Bool
    }

    static let names = ["a", "b", "c"]

    /// The columns of now; those that are nil are not declared.
    @TaskLocal static var columns: [Column?] = [nil, nil, nil]

    var id: EntityID<Shifting>
    var a: RecordValue = .null
    var b: RecordValue = .null
    var c: RecordValue = .null

    static let entityName = "Shifting"

    static var entitySchema: EntitySchema {
        EntitySchema(
            name: entityName,
            attributes: zip(names, columns).compactMap { name, column in
                column.map { column in
                    // As the macro has it: a list that is not there reads as an empty one.
                    let isList = column.type.element != nil && !column.isOptional
                    return AttributeSchema(
                        name: name, type: column.type, isOptional: column.isOptional,
                        hasDefault: isList, defaultValue: isList ? .list([]) : nil,
                        isIndexed: column.isIndexed && column.type.isOrdered)
                }
            })
    }

    static var attributeIndexes: [PartialKeyPath<Shifting>: Int] { [:] }

    init(id: EntityID<Shifting>) { self.id = id }

    init(id: EntityID<Shifting>, fields: inout _FieldReader) throws {
        self.id = id
        var values: [RecordValue] = []
        for column in Self.columns.compactMap({ $0 }) {
            values.append(try Self.read(column, at: values.count, &fields))
        }
        var next = values.makeIterator()
        let all = Self.columns.map { $0 == nil ? RecordValue.null : next.next() ?? .null }
        (a, b, c) = (all[0], all[1], all[2])
    }

    func write(to fields: inout _FieldWriter) throws {
        var at = 0
        for (column, value) in zip(Self.columns, [a, b, c]) where column != nil {
            try fields.write(value: value, at: at)
            at += 1
        }
    }

    private static func read(
        _ column: Column, at index: Int, _ fields: inout _FieldReader
    ) throws -> RecordValue {
        func read<Attribute: AttributeValue>(_ type: Attribute.Type) throws -> RecordValue {
            column.isOptional
                ? try fields.read(Attribute?.self, at: index)._recordValue
                : try fields.read(Attribute.self, at: index)._recordValue
        }
        return switch column.type {
        case .string: try read(String.self)
        case .bool: try read(Bool.self)
        case .int16: try read(Int16.self)
        case .int32: try read(Int32.self)
        case .int64: try read(Int64.self)
        case .float: try read(Float.self)
        case .double: try read(Double.self)
        case .decimal: try read(Decimal.self)
        case .date: try read(Date.self)
        case .data: try read(Data.self)
        case .uuid: try read(UUID.self)
        case .url: try read(URL.self)
        case .reference: try read(EntityID<Shifting>.self)
        case .location: try read(GeoLocation.self)
        case .duration: try read(Duration.self)
        case .asset: try read(Asset.self)
        case .stringList: try read([String].self)
        case .boolList: try read([Bool].self)
        case .int16List: try read([Int16].self)
        case .int32List: try read([Int32].self)
        case .int64List: try read([Int64].self)
        case .floatList: try read([Float].self)
        case .doubleList: try read([Double].self)
        case .decimalList: try read([Decimal].self)
        case .dateList: try read([Date].self)
        case .dataList: try read([Data].self)
        case .uuidList: try read([UUID].self)
        case .urlList: try read([URL].self)
        case .locationList: try read([GeoLocation].self)
        case .durationList: try read([Duration].self)
        case .assetList: try read([Asset].self)
        }
    }
}
