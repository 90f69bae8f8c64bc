public import BackstitchCore
import BackstitchLog
public import Foundation

/// The effect of one operation on one record, for a projection. Valid only inside `apply`.
///
/// Local saves, what the service delivered, merges, undos, imports: every operation that changes a
/// record is one change. A transaction that has several operations on a record gives several.
public struct ProjectedChange: ~Copyable {
    /// How the record changed.
    public enum Kind: String, Hashable, Sendable, CaseIterable {
        /// It begins: there is no record before.
        case insert
        /// Some attributes have other values.
        case update
        /// It ends: there is no record after.
        case delete
    }

    /// What became of the record.
    public let kind: Kind
    /// The entity's table.
    package let table: EntityTable
    private let operation: OperationView
    private let fieldsBefore: PackedFields?
    private let fieldsAfter: PackedFields?
    private let types: TypeTable
    package let key: RecordKey

    init(
        _ operation: OperationView, before: PackedFields?, after: PackedFields?,
        table: EntityTable, types: TypeTable
    ) throws {
        self.operation = operation
        self.table = table
        self.types = types
        fieldsBefore = before
        fieldsAfter = after
        kind = before == nil ? .insert : after == nil ? .delete : .update
        key = try operation.key
    }

    /// The operation's place in the log.
    public var sequence: UInt64 { operation.sequence }
    /// The sequence of the first operation of the same transaction.
    public var transaction: UInt64 { operation.transaction }
    /// Whether it comes from this device, the service, or a merge of both.
    public var origin: OperationOrigin { operation.origin }
    /// The author of the operation; empty if the write named none.
    public var author: String { operation.author }
    /// The hybrid clock: 48 bits of milliseconds since 1970, 16 bits of counter. It ascends with
    /// sequences.
    public var clock: UInt64 { operation.clock }
    /// The time of the clock.
    public var date: Date { Date(milliseconds: LogicalClock.milliseconds(of: operation.clock)) }
    /// The record.
    public var record: RecordID { RecordID(entity: table.name, key: key) }
    /// The name of the record's entity, which costs less than ``record``.
    public var entity: String { table.name }
    /// Whether this is the record as it was at some moment, in place of earlier operations, which
    /// were compacted.
    public var isBaseline: Bool { operation.kind == .baseline }

    // MARK: Records

    /// The record before the change as its Swift type; nil if there was none, if it is of another
    /// entity, or if its values don't fit the type, in which case queries leave it out; and if the type
    /// has external attributes that are set: ask for attributes by name then.
    ///
    /// - Throws: `unknownEntity` if the schema lacks the type; `damaged`.
    public func before<Model: Entity>(_ type: Model.Type = Model.self) throws -> Model? {
        try decode(fieldsBefore, as: type)
    }

    /// The record after the change as its Swift type; nil as for ``before(_:)``.
    ///
    /// - Throws: `unknownEntity` if the schema lacks the type; `damaged`.
    public func after<Model: Entity>(_ type: Model.Type = Model.self) throws -> Model? {
        try decode(fieldsAfter, as: type)
    }

    private func decode<Model: Entity>(
        _ fields: PackedFields?, as type: Model.Type
    ) throws -> Model? {
        let binding = try types.binding(of: type)
        guard binding.number == table.number, let fields else { return nil }
        // A view follows from the log, and not from which files are on this device.
        let layout =
            binding.layout.external == nil
            ? binding.layout : FieldLayout(fields: binding.layout.fields)
        var reader = _FieldReader(fields: fields, layout: layout)
        do {
            return try Model(id: EntityID(key: key), fields: &reader)
        } catch let error as FieldError where error.reason != .damaged {
            return nil
        }
    }

    // MARK: Attributes

    /// The value of an attribute before the change; null if there was none, no record included.
    /// An attribute with a default has that if the record lacks it.
    ///
    /// - Throws: `invalidProjection` if the entity has no such attribute; `damaged`.
    public func before(_ attribute: String) throws -> RecordValue {
        try value(of: attribute, in: fieldsBefore)
    }

    /// The value of an attribute after the change; as ``before(_:)``.
    ///
    /// - Throws: `invalidProjection` if the entity has no such attribute; `damaged`.
    public func after(_ attribute: String) throws -> RecordValue {
        try value(of: attribute, in: fieldsAfter)
    }

    /// Whether an attribute has another value after the change than before.
    ///
    /// - Throws: `invalidProjection` if the entity has no such attribute; `damaged`.
    public func changes(_ attribute: String) throws -> Bool {
        try before(attribute) != after(attribute)
    }

    private func value(of name: String, in fields: PackedFields?) throws -> RecordValue {
        if let attribute = table.binding.attributes.first(where: { $0.name == name }) {
            guard let fields else { return .null }
            return try attribute.value(of: fields)
        }
        guard let attribute = table.attributes.first(where: { $0.attributeName == name }) else {
            throw StoreError(
                .invalidProjection,
                "\(table.name) has no attribute '\(name)'. Use the name of a stored property.")
        }
        return try fields?.value(of: attribute.field)?.decoded() ?? .null
    }
}
