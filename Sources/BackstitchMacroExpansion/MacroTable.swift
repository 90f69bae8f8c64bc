package import SwiftSyntaxMacros

/// The macro of the type name that its declaration gives; nil if there is none.
package func backstitchMacro(named typeName: String) -> (any Macro.Type)? {
    switch typeName {
    case "EntityMacro": EntityMacro.self
    case "EmbeddableMacro": EmbeddableMacro.self
    case "AttributeMacro": AttributeMacro.self
    case "RelationshipMacro": RelationshipMacro.self
    case "InverseMacro": InverseMacro.self
    default: nil
    }
}
