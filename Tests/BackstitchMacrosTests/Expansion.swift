import SwiftDiagnostics
import SwiftParser
import SwiftSyntax
import SwiftSyntaxBuilder
import SwiftSyntaxMacroExpansion
import SwiftSyntaxMacros

@testable import BackstitchMacroExpansion

/// A source text after its macros were expanded, and what they reported.
struct Expansion {
    /// The expanded source.
    let text: String
    /// What was reported, each as `line:column message`.
    let reports: [String]
    /// The source that each fix-it makes, by the fix-it's title.
    let fixes: [String: String]

    init(_ source: String) {
        let tree = Parser.parse(source: source)
        let file = BasicMacroExpansionContext.KnownSourceFile(
            moduleName: "Test", fullFilePath: "Test.swift")
        let context = BasicMacroExpansionContext(sourceFiles: [tree: file])
        let specs: [String: MacroSpec] = [
            "Entity": MacroSpec(type: EntityMacro.self, conformances: ["Entity"]),
            "Embeddable": MacroSpec(
                type: EmbeddableMacro.self, conformances: ["_EmbeddableValue"]),
            "Attribute": MacroSpec(type: AttributeMacro.self),
            "Relationship": MacroSpec(type: RelationshipMacro.self),
            "_Inverse": MacroSpec(type: InverseMacro.self),
        ]
        let expanded = tree.expand(
            macroSpecs: specs,
            contextGenerator: {
                BasicMacroExpansionContext(
                    sharingWith: context, lexicalContext: $0.allMacroLexicalContexts())
            })
        text = expanded.description
        let converter = SourceLocationConverter(fileName: "Test.swift", tree: tree)
        var reports: [String] = []
        var fixes: [String: String] = [:]
        for diagnostic in context.diagnostics {
            let location = context.location(
                for: diagnostic.position, anchoredAt: diagnostic.node, fileName: "Test.swift")
            reports.append("\(location.line):\(location.column) \(diagnostic.message)")
            for fix in diagnostic.fixIts {
                var bytes = Array(source.utf8)
                for case .replace(let old, let new) in fix.changes.reversed() {
                    let start = context.location(
                        for: old.position, anchoredAt: old, fileName: "Test.swift")
                    let offset = converter.position(ofLine: start.line, column: start.column)
                        .utf8Offset
                    let range = offset..<(offset + old.totalLength.utf8Length)
                    bytes.replaceSubrange(range, with: new.description.utf8)
                }
                fixes[fix.message.message] = String(decoding: bytes, as: UTF8.self)
            }
        }
        self.reports = reports
        self.fixes = fixes
    }
}
