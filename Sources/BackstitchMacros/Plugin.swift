import Foundation
@_spi(PluginMessage) import SwiftCompilerPluginMessageHandling
import SwiftSyntaxMacros

struct BackstitchPlugin: PluginProvider {
    func resolveMacro(moduleName: String, typeName: String) throws -> any Macro.Type {
        throw CocoaError(.featureUnsupported)
    }
}

@main enum Main { static func main() {} }
