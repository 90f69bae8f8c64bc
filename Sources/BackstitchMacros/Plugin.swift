import BackstitchMacroExpansion
@_spi(PluginMessage) import SwiftCompilerPluginMessageHandling
import SwiftSyntaxMacros

/// The compiler plugin: answers the compiler's requests to expand macros until its input ends.
///
/// The toolchain ships the message handling of SwiftSyntax but not its `SwiftCompilerPlugin`
/// module, so the plugin makes the connection over standard input and output itself. The macros are
/// in a module of their own: tests that depended on the plugin would be built for the host, and with
/// them all that they use a second time.
@main
struct BackstitchPlugin: PluginProvider {
    static func main() throws {
        let connection = try StandardIOMessageConnection()
        try CompilerPluginMessageListener(connection: connection, provider: BackstitchPlugin())
            .main()
    }

    func resolveMacro(moduleName: String, typeName: String) throws -> any Macro.Type {
        guard let macro = backstitchMacro(named: typeName) else {
            throw MacroExpansionErrorMessage("Backstitch has no macro '\(moduleName).\(typeName)'.")
        }
        return macro
    }
}
