import SwiftSyntax
import SwiftSyntaxBuilder

/// The members that make a struct an entity.
///
/// They stand in the struct's body, if types and initial values mean what they mean in its
/// declaration. Only an initialiser would take the memberwise one away, so a struct that has none
/// of its own gets that in an extension.
struct EntityExpansion {
    let entity: EntityDeclaration
    /// Whether the declaration has errors: the members are there, but do nothing.
    let isBroken: Bool

    private var access: String { entity.access }
    private var attributes: [AttributeDeclaration] { isBroken ? [] : entity.attributes }

    /// What stands in the struct's body.
    var members: [DeclSyntax] {
        let members = [
            "\(access)typealias ID = Backstitch.EntityID<Self>",
            "\(access)static var entityName: String { \(entity.name.literal) }",
            schema, indexes, entity.hasInitializer ? assigningInitializer : decoder, writer,
        ]
        return members.map { "\(raw: $0)" }
    }

    /// What stands in the extension with the conformance.
    @MemberBlockItemListBuilder var extensionMembers: MemberBlockItemListSyntax {
        if !entity.hasInitializer { DeclSyntax("\(raw: decodingInitializer)") }
    }

    // MARK: Schema

    private var schema: String {
        let toMany = isBroken ? [] : entity.toMany.map(toManySchema)
        return """
            \(access)static let entitySchema = Backstitch.EntitySchema(
                name: \(entity.name.literal),
                attributes: \(Self.list(attributes.map(attributeSchema), indent: "    ")),
                toMany: \(Self.list(toMany, indent: "    ")))
            """
    }

    private func attributeSchema(_ attribute: AttributeDeclaration) -> String {
        var text =
            "Backstitch.AttributeSchema(\(attribute.name.literal), "
            + (attribute.isReference ? "reference: " : "") + "\(storedType(attribute)).self"
        if !attribute.options.isEmpty {
            text += ", options: [\(attribute.options.map { "." + $0 }.joined(separator: ", "))]"
        }
        if let name = attribute.originalName { text += ", originalName: \(name)" }
        if let name = attribute.serviceName { text += ", serviceName: \(name)" }
        if let value = attribute.defaultValue {
            text += ", hasDefault: true"
            if attribute.isDefaultConstant, attribute.codedType == nil {
                // A type beside it, because `.none` alone would be that of the optional parameter.
                text += ", default: \(value)"
                if !attribute.isDefaultLiteral { text += " as \(attribute.type)" }
            }
        }
        if let rule = attribute.deleteRule { text += ", onDelete: \(rule)" }
        return text + ")"
    }

    /// The type that is stored: for coded values a wrapper.
    private func storedType(_ attribute: AttributeDeclaration) -> String {
        guard let coded = attribute.codedType else { return attribute.type }
        return "Backstitch._CodedValue<\(coded)>\(attribute.isOptional ? "?" : "")"
    }

    private func toManySchema(_ relationship: ToManyDeclaration) -> String {
        "Backstitch._ToManySchema(\(relationship.name.literal), inverse: \(relationship.inverse))"
    }

    // Key paths without captures never change; `PartialKeyPath` can't say so to the compiler.
    private var indexes: String {
        let entries = attributes.enumerated().map { "\\Self.\($1.identifier): \($0)" }
        return """
            @safe \(access)nonisolated(unsafe) static let attributeIndexes: \
            [PartialKeyPath<Self>: Int] = \
            \(entries.isEmpty ? "[:]" : Self.list(entries, indent: ""))
            """
    }

    // MARK: Codec

    private static let readerParameters =
        "id: Backstitch.EntityID<Self>, fields: inout Backstitch._FieldReader"

    /// For a struct without initialisers of its own: makes a value by the memberwise one, which does
    /// not evaluate the initial values that it has arguments for, so that reading makes no new id.
    private var decoder: String {
        var arguments = attributes.enumerated().map { "\($1.label): \(read($1, at: $0))" }
        arguments.insert("id: id", at: isBroken ? 0 : entity.idPosition)
        let call =
            "\(attributes.isEmpty ? "" : "try ")Self(\n        "
            + arguments.joined(separator: ",\n        ") + ")"
        return """
            private static func decode(
                \(Self.readerParameters)
            ) throws -> Self {
                \(isBroken ? "fatalError()" : call)
            }
            """
    }

    /// Delegates to the memberwise initialiser: one that assigns to `self` counts as one that sets
    /// every property, and begins with all their initial values.
    private var decodingInitializer: String {
        let read = "try Self.decode(id: id, fields: &fields)"
        var arguments = attributes.map { "\($0.label): value.\($0.identifier)" }
        arguments.insert("id: value.id", at: isBroken ? 0 : entity.idPosition)
        let body =
            isBroken
            ? "self = \(read)"
            : """
            let value = \(read)
                self.init(
                    \(arguments.joined(separator: ",\n        ")))
            """
        return """
            \(access)init(\(Self.readerParameters)) throws {
                \(body)
            }
            """
    }

    /// For a struct with initialisers of its own: sets the attributes one by one.
    private var assigningInitializer: String {
        let lines = attributes.enumerated().map {
            "self.\($1.identifier) = try \(read($1, at: $0))"
        }
        let body = isBroken ? ["fatalError()"] : ["self.id = id"] + lines
        return """
            \(access)init(\(Self.readerParameters)) throws {
                \(body.joined(separator: "\n    "))
            }
            """
    }

    private func read(_ attribute: AttributeDeclaration, at index: Int) -> String {
        let isCoded = attribute.codedType != nil
        let fallback = attribute.defaultValue.map {
            ", default: " + (isCoded ? "Backstitch._CodedValue(\($0))" : $0)
        }
        let content = isCoded ? (attribute.isOptional ? "?.content" : ".content") : ""
        return "fields.read(\(storedType(attribute)).self, at: \(index)\(fallback ?? ""))" + content
    }

    private func written(_ attribute: AttributeDeclaration) -> String {
        let value = "self.\(attribute.identifier)"
        guard attribute.codedType != nil else { return value }
        return attribute.isOptional
            ? "\(value).map { Backstitch._CodedValue($0) }" : "Backstitch._CodedValue(\(value))"
    }

    private var writer: String {
        let lines = attributes.enumerated().map {
            "\n    try fields.write(\(written($1)), at: \($0))"
        }
        return """
            \(access)func write(to fields: inout Backstitch._FieldWriter) throws {\(lines.joined())
            }
            """
    }

    private static func list(_ elements: [String], indent: String) -> String {
        if elements.isEmpty { return "[]" }
        let lines = elements.map { "\(indent)    \($0),\n" }.joined()
        return "[\n\(lines)\(indent)]"
    }
}

extension String {
    /// The string as a Swift literal.
    fileprivate var literal: String { StringLiteralExprSyntax(content: self).description }
}
