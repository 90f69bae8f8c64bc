import SwiftParser
import SwiftSyntax
import SwiftSyntaxBuilder
import SwiftSyntaxMacros

/// `@_Inverse`: computes a `ToMany` property from the record's identity.
///
/// `@Entity` puts it at properties with `@Relationship(inverse:)`, after it has checked them.
/// The key path is text, so that a wrong one is reported at the property and not here as well.
struct InverseMacro: AccessorMacro {
    static func expansion(
        of node: AttributeSyntax, providingAccessorsOf declaration: some DeclSyntaxProtocol,
        in context: some MacroExpansionContext
    ) throws -> [AccessorDeclSyntax] {
        let literal = node.argumentList.first?.expression.as(StringLiteralExprSyntax.self)
        guard let inverse = literal?.representedLiteralValue else { return [] }
        return ["get { Backstitch.ToMany(owner: self.id, inverse: \(raw: inverse)) }"]
    }
}
