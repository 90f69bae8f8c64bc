public import BackstitchCore

/// Makes a struct an entity: a type whose values are records of a store.
///
/// ```swift
/// @Entity struct Employee {
///     var id = ID()
///     var name: String
///     @Attribute(.indexed) var email: String
///     @Relationship(onDelete: .cascade) var department: Department.ID?
/// }
/// ```
///
/// Every stored property is an attribute, in the order of the declaration; its type is one of those
/// that conform to ``AttributeValue``. Computed and static properties are left alone. The struct has
/// a stored property `id` of the type `ID`, which the macro declares as ``EntityID`` of the struct.
///
/// An initial value is used for new values, and for rows that lack the attribute because they were
/// saved before it was added. An optional reads as nil there, whatever its initial value. So add
/// an attribute as an optional or with an initial value: records without it can't be read otherwise.
///
/// A struct with initialisers in its own body has no memberwise one. Reading a row then evaluates
/// every initial value first, a new id among them; declare initialisers in an extension to avoid it.
///
/// - Parameter name: The name of the entity in the store and of its record type on the service; the
///   struct's name unless given. Give it when you rename a struct that has records.
@attached(
    member,
    names: named(ID), named(entityName), named(entitySchema), named(attributeIndexes),
    named(init(id:fields:)), named(decode(id:fields:)), named(write(to:))
)
@attached(memberAttribute)
@attached(extension, conformances: Entity, names: named(init(id:fields:)))
public macro Entity(_ name: String? = nil) =
    #externalMacro(module: "BackstitchMacros", type: "EntityMacro")

/// Makes a struct one whose properties can be stored as attributes of the records that hold it.
///
/// ```swift
/// @Embeddable struct Size {
///     @Attribute(.indexed) var width: Double
///     var height = 1.0
/// }
/// @Entity struct Part {
///     var id = ID()
///     @Attribute(.embedded) var size: Size
/// }
/// let wide = Query<Part>().where(\.size.width, greaterThan: 2).sorted(by: \.size.height)
/// ```
///
/// Each stored property is an attribute of the record, named after both: `size_width`. It has its own
/// index, options and field on the service, and two devices that change different parts do not
/// conflict. A struct may embed others; it has no identity, no to-many relationships, and is not
/// optional where it is embedded.
@attached(
    member,
    names: named(_parts), named(_partCount), named(_partIndexes), named(_read), named(_write),
    named(init(_fields:at:default:))
)
@attached(extension, conformances: _EmbeddableValue)
public macro Embeddable() =
    #externalMacro(module: "BackstitchMacros", type: "EmbeddableMacro")

/// Sets options of an attribute, such as an index or a former name.
///
/// ```swift
/// @Attribute(.unique, originalName: "mail") var email: String
/// ```
///
/// `@Entity` reads it; elsewhere it has no effect.
///
/// - Parameters:
///   - options: The options, see ``AttributeSchema/Option``.
///   - originalName: The attribute's first name, if the property was renamed. The field on the
///     service and in stores keeps that name, so that older versions of the app and other devices
///     go on. It stays the first name through later renames.
///   - serviceName: The name of the field on the service and in stores, if it is not the
///     attribute's own. It stays when the property is renamed, so it needs no `originalName`.
@attached(peer)
public macro Attribute(
    _ options: AttributeSchema.Option..., originalName: String? = nil, serviceName: String? = nil
) =
    #externalMacro(module: "BackstitchMacros", type: "AttributeMacro")

/// Makes a property the other side of a to-one relationship: the records that refer to this one.
///
/// ```swift
/// @Relationship(inverse: \Employee.department) var employees: ToMany<Employee>
/// ```
///
/// The property becomes computed and holds no records; fetch, count or observe it. It needs no
/// space in the row and is no argument of the memberwise initialiser.
///
/// - Parameter inverse: The reference that points back, which begins with the other entity.
@attached(peer)
public macro Relationship<Target: Entity, Reference: RecordReference>(
    inverse: KeyPath<Target, Reference>
) = #externalMacro(module: "BackstitchMacros", type: "RelationshipMacro")

/// Sets what happens to this record when the record that it refers to is deleted.
///
/// ```swift
/// @Relationship(onDelete: .cascade) var department: Department.ID?
/// ```
///
/// Without a rule the reference becomes nil, so a reference that is not optional needs one.
@attached(peer)
public macro Relationship(onDelete rule: AttributeSchema.DeleteRule) =
    #externalMacro(module: "BackstitchMacros", type: "RelationshipMacro")

/// Not available: the delete rule is written at the reference, and the inverse at the to-many.
@available(
    *, unavailable,
    message:
        "write '@Relationship(inverse: \\Child.parent) var children: ToMany<Child>' here, and the rule at the reference of the other entity: '@Relationship(onDelete: .cascade) var parent: Parent.ID?'"
)
@attached(peer)
public macro Relationship<Target, Reference>(
    deleteRule rule: AttributeSchema.DeleteRule, inverse: KeyPath<Target, Reference>
) = #externalMacro(module: "BackstitchMacros", type: "RelationshipMacro")

/// Computes a to-many property; `@Entity` expands `@Relationship(inverse:)` to it.
///
/// Write `@Relationship(inverse:)` instead: this macro checks nothing.
@attached(accessor)
public macro _Inverse(_ inverse: String) =
    #externalMacro(module: "BackstitchMacros", type: "InverseMacro")
