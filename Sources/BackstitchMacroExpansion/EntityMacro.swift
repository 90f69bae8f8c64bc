import SwiftDiagnostics
import SwiftSyntax
import SwiftSyntaxBuilder
import SwiftSyntaxMacros

/// `@Entity`: gives a struct its `ID`, its schema and its codec, and computes its to-manys.
struct EntityMacro: MemberMacro, MemberAttributeMacro, ExtensionMacro {
    static func expansion(
        of node: AttributeSyntax, providingMembersOf declaration: some DeclGroupSyntax,
        conformingTo protocols: [TypeSyntax], in context: some MacroExpansionContext
    ) throws -> [DeclSyntax] {
        let reading = EntityReading(node, declaration)
        for diagnostic in reading.diagnostics { context.diagnose(diagnostic) }
        return reading.canConform ? reading.expansion.members : []
    }

    static func expansion(
        of node: AttributeSyntax, attachedTo declaration: some DeclGroupSyntax,
        providingExtensionsOf type: some TypeSyntaxProtocol, conformingTo protocols: [TypeSyntax],
        in context: some MacroExpansionContext
    ) throws -> [ExtensionDeclSyntax] {
        // The member role has reported what is wrong. An entity with an identity keeps its
        // conformance, so that its uses are not reported as well.
        let reading = EntityReading(node, declaration)
        guard reading.canConform else { return [] }
        let header: SyntaxNodeString =
            protocols.isEmpty
            ? "nonisolated extension \(type.trimmed)"
            : "nonisolated extension \(type.trimmed): Backstitch.Entity"
        return [try ExtensionDeclSyntax(header) { reading.expansion.extensionMembers }]
    }
}

extension EntityMacro {
    /// Makes to-many properties computed.
    ///
    /// `@Relationship(inverse:)` can't do that itself: the compiler takes a property out of the
    /// memberwise initialiser when any macro of the attribute's name adds accessors, and the one
    /// with `onDelete` stands at stored properties.
    static func expansion(
        of node: AttributeSyntax, attachedTo declaration: some DeclGroupSyntax,
        providingAttributesFor member: some DeclSyntaxProtocol,
        in context: some MacroExpansionContext
    ) throws -> [AttributeSyntax] {
        guard declaration.is(StructDeclSyntax.self),
            let variable = member.as(VariableDeclSyntax.self), !variable.isStatic,
            let binding = variable.bindings.first, binding.initializer == nil,
            binding.accessorBlock == nil, let target = binding.typeAnnotation?.type.toManyTarget,
            let inverse = variable.attributes.named("Relationship").lazy
                .compactMap({ $0.argument("inverse") }).first, inverse.isKeyPath(from: target)
        else { return [] }
        return ["@Backstitch._Inverse(\(literal: inverse.trimmedDescription))"]
    }
}

extension EntityReading {
    fileprivate var expansion: EntityExpansion {
        EntityExpansion(entity: entity, isBroken: !diagnostics.isEmpty)
    }
}
