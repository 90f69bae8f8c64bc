import SwiftSyntax
import SwiftSyntaxBuilder

/// The members that make a struct an entity.
///
/// They stand in the struct's body, if types and initial values mean what they mean in its
/// declaration. Only an initialiser would take the memberwise one away, so a struct that has none
/// of its own gets that in an extension.
struct EntityExpansion {
    let entity: EntityDeclaration
    /// Whether the declaration has errors: the members are there, but do nothing.
    let isBroken: Bool

    private var access: String { entity.access }
    private var attributes: [AttributeDeclaration] { isBroken ? [] : entity.attributes }

    /// What stands in the struct's body.
    var members: [DeclSyntax] {
        let members = [
            "\(access)typealias ID = Backstitch.EntityID<Self>",
            "\(access)static var entityName: String { \(entity.name.literal) }",
            schema, indexes, entity.hasInitializer ? assigningInitializer : decoder, writer,
        ]
        return members.map { "\(raw: $0)" }
    }

    /// What stands in the extension with the conformance.
    @MemberBlockItemListBuilder var extensionMembers: MemberBlockItemListSyntax {
        if !entity.hasInitializer { DeclSyntax("\(raw: decodingInitializer)") }
    }

    // MARK: Schema

    private var schema: String {
        let toMany = isBroken ? [] : entity.toMany.map(toManySchema)
        return """
            \(access)static let entitySchema = Backstitch.EntitySchema(
                name: \(entity.name.literal),
                attributes: \(attributes.schemas { $0.schema }),
                toMany: \(toMany.literal(indent: "    ")))
            """
    }

    private func toManySchema(_ relationship: ToManyDeclaration) -> String {
        "Backstitch._ToManySchema("
            + "\(relationship.name.literal), at: \\Self.\(relationship.identifier), "
            + "inverse: \(relationship.inverse))"
    }

    // Key paths without captures never change; `PartialKeyPath` can't say so to the compiler.
    private var indexes: String {
        """
        @safe \(access)nonisolated(unsafe) static let attributeIndexes: \
        [PartialKeyPath<Self>: Int] = \
        \(attributes.indexes)
        """
    }

    // MARK: Codec

    private static let readerParameters =
        "id: Backstitch.EntityID<Self>, fields: inout Backstitch._FieldReader"

    /// For a struct without initialisers of its own: makes a value by the memberwise one, which does
    /// not evaluate the initial values that it has arguments for, so that reading makes no new id.
    /// Inlined into the initialiser, or that would copy each attribute.
    private var decoder: String {
        var arguments = attributes.enumerated().map {
            "\($1.label): \($1.read(at: attributes.position(of: $0)))"
        }
        arguments.insert("id: id", at: isBroken ? 0 : entity.idPosition)
        let call =
            "\(attributes.isEmpty ? "" : "try ")Self(\n        "
            + arguments.joined(separator: ",\n        ") + ")"
        return """
            @inline(__always) private static func decode(
                \(Self.readerParameters)
            ) throws -> Self {
                \(isBroken ? "fatalError()" : call)
            }
            """
    }

    /// Delegates to the memberwise initialiser: one that assigns to `self` counts as one that sets
    /// every property, and begins with all their initial values.
    private var decodingInitializer: String {
        let read = "try Self.decode(id: id, fields: &fields)"
        var arguments = attributes.map { "\($0.label): value.\($0.identifier)" }
        arguments.insert("id: value.id", at: isBroken ? 0 : entity.idPosition)
        let body =
            isBroken
            ? "self = \(read)"
            : """
            let value = \(read)
                self.init(
                    \(arguments.joined(separator: ",\n        ")))
            """
        return """
            \(access)init(\(Self.readerParameters)) throws {
                \(body)
            }
            """
    }

    /// For a struct with initialisers of its own: sets the attributes one by one.
    private var assigningInitializer: String {
        let lines = attributes.enumerated().map {
            "self.\($1.identifier) = try \($1.read(at: attributes.position(of: $0)))"
        }
        let body = isBroken ? ["fatalError()"] : ["self.id = id"] + lines
        return """
            \(access)init(\(Self.readerParameters)) throws {
                \(body.joined(separator: "\n    "))
            }
            """
    }

    private var writer: String {
        let lines = attributes.enumerated().map {
            "\n    \($1.write(at: attributes.position(of: $0)))"
        }
        return """
            \(access)func write(to fields: inout Backstitch._FieldWriter) throws {\(lines.joined())
            }
            """
    }
}
