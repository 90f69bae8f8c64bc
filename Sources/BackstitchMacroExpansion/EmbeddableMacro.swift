import SwiftDiagnostics
import SwiftSyntax
import SwiftSyntaxBuilder
import SwiftSyntaxMacros

/// `@Embeddable`: gives a struct the schema and the codec of its parts.
struct EmbeddableMacro: MemberMacro, ExtensionMacro {
    static func expansion(
        of node: AttributeSyntax, providingMembersOf declaration: some DeclGroupSyntax,
        conformingTo protocols: [TypeSyntax], in context: some MacroExpansionContext
    ) throws -> [DeclSyntax] {
        let reading = EntityReading(node, declaration, isEmbeddable: true)
        for diagnostic in reading.diagnostics { context.diagnose(diagnostic) }
        guard reading.canConform else { return [] }
        let expansion = EmbeddableExpansion(
            entity: reading.entity, isBroken: !reading.diagnostics.isEmpty)
        return expansion.members
    }

    static func expansion(
        of node: AttributeSyntax, attachedTo declaration: some DeclGroupSyntax,
        providingExtensionsOf type: some TypeSyntaxProtocol, conformingTo protocols: [TypeSyntax],
        in context: some MacroExpansionContext
    ) throws -> [ExtensionDeclSyntax] {
        guard EntityReading(node, declaration, isEmbeddable: true).canConform, !protocols.isEmpty
        else { return [] }
        let header: SyntaxNodeString =
            "nonisolated extension \(type.trimmed): Backstitch._EmbeddableValue"
        return [try ExtensionDeclSyntax(header) {}]
    }
}

/// The members that make a struct embeddable; they stand in its body, as those of an entity do.
struct EmbeddableExpansion {
    let entity: EntityDeclaration
    /// Whether the declaration has errors: the members are there, but do nothing.
    let isBroken: Bool

    private var access: String { entity.access }
    private var parts: [AttributeDeclaration] { isBroken ? [] : entity.attributes }

    var members: [DeclSyntax] {
        var members = [schema, count, indexes, reader, writer]
        if entity.hasInitializer { members.append(assigningInitializer) }
        return members.map { "\(raw: $0)" }
    }

    private var schema: String {
        """
        \(access)static func _parts(default value: Self?) -> [Backstitch.AttributeSchema] {
            \(parts.schemas { $0.partSchema })
        }
        """
    }

    private var count: String { "\(access)static var _partCount: Int { \(parts.storedCount) }" }

    private var indexes: String {
        "\(access)static var _partIndexes: [PartialKeyPath<Self>: Int] { \(parts.indexes) }"
    }

    private static let readerParameters =
        "fields: inout Backstitch._FieldReader, at index: Int, default value: @autoclosure () -> Self?"

    private func read(_ position: Int) -> String {
        parts[position].readPart(at: parts.position(of: position, from: "index"))
    }

    private var reader: String {
        let arguments = parts.indices.map { "\(parts[$0].label): \(read($0))" }
        let call =
            isBroken
            ? "fatalError()"
            : entity.hasInitializer
                ? "try Self(_fields: &fields, at: index, default: value())"
                : "\(parts.isEmpty ? "" : "try ")Self(\(arguments.joined(separator: ", ")))"
        return """
            \(access)static func _read(
                from \(Self.readerParameters)
            ) throws -> Self {
                \(call)
            }
            """
    }

    /// For a struct with initialisers of its own: sets the parts one by one.
    private var assigningInitializer: String {
        let lines = parts.indices.map { "self.\(parts[$0].identifier) = try \(read($0))" }
        let body = isBroken ? "fatalError()" : lines.joined(separator: "\n    ")
        return """
            private init(
                _fields \(Self.readerParameters)
            ) throws {
                \(body)
            }
            """
    }

    private var writer: String {
        let lines = parts.indices.map {
            "\n    \(parts[$0].write(at: parts.position(of: $0, from: "index")))"
        }
        return """
            \(access)func _write(to fields: inout Backstitch._FieldWriter, at index: Int) throws \
            {\(lines.joined())
            }
            """
    }
}
