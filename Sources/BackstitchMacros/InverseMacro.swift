import SwiftSyntax
import SwiftSyntaxBuilder
import SwiftSyntaxMacros

/// `@_Inverse`: computes a `ToMany` property from the record's identity.
///
/// `@Entity` puts it at properties with `@Relationship(inverse:)`, after it has checked them.
struct InverseMacro: AccessorMacro {
    static func expansion(
        of node: AttributeSyntax, providingAccessorsOf declaration: some DeclSyntaxProtocol,
        in context: some MacroExpansionContext
    ) throws -> [AccessorDeclSyntax] {
        guard let inverse = node.argumentList.first?.expression else { return [] }
        return ["get { Backstitch.ToMany(owner: self.id, inverse: \(inverse.trimmed)) }"]
    }
}
