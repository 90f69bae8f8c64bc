import SwiftSyntax
import SwiftSyntaxMacros

/// `@Attribute(…)`: a mark that `@Entity` reads; it adds nothing by itself.
struct AttributeMacro: PeerMacro {
    static func expansion(
        of node: AttributeSyntax, providingPeersOf declaration: some DeclSyntaxProtocol,
        in context: some MacroExpansionContext
    ) throws -> [DeclSyntax] {
        []
    }
}

/// `@Relationship(…)`: a mark that `@Entity` reads; it adds nothing by itself.
struct RelationshipMacro: PeerMacro {
    static func expansion(
        of node: AttributeSyntax, providingPeersOf declaration: some DeclSyntaxProtocol,
        in context: some MacroExpansionContext
    ) throws -> [DeclSyntax] {
        []
    }
}
