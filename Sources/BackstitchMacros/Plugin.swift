@_spi(PluginMessage) import SwiftCompilerPluginMessageHandling
import SwiftSyntaxMacros

/// The compiler plugin: answers the compiler's requests to expand macros until its input ends.
///
/// The toolchain ships the message handling of SwiftSyntax but not its `SwiftCompilerPlugin`
/// module, so the plugin makes the connection over standard input and output itself.
@main
struct BackstitchPlugin: PluginProvider {
    /// The macros of the plugin by the type name that their declarations give.
    let macros: [String: any Macro.Type] = [
        "EntityMacro": EntityMacro.self,
        "AttributeMacro": AttributeMacro.self,
        "RelationshipMacro": RelationshipMacro.self,
        "InverseMacro": InverseMacro.self,
    ]

    static func main() throws {
        let connection = try StandardIOMessageConnection()
        try CompilerPluginMessageListener(connection: connection, provider: BackstitchPlugin())
            .main()
    }

    func resolveMacro(moduleName: String, typeName: String) throws -> any Macro.Type {
        guard let macro = macros[typeName] else {
            throw MacroExpansionErrorMessage("Backstitch has no macro '\(moduleName).\(typeName)'.")
        }
        return macro
    }
}
