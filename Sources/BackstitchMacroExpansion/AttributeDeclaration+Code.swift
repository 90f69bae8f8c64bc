import SwiftSyntax
import SwiftSyntaxBuilder

/// The code that describes, reads and writes an attribute.
extension AttributeDeclaration {
    /// The type that is stored: for coded values a wrapper.
    private var storedType: String {
        guard let codedType else { return type }
        return "Backstitch._CodedValue<\(codedType)>\(isOptional ? "?" : "")"
    }

    /// An expression of the stored type for one of the property's.
    private func stored(_ value: String, isOptional: Bool) -> String {
        guard codedType != nil else { return value }
        return isOptional
            ? "\(value).map { Backstitch._CodedValue($0) }" : "Backstitch._CodedValue(\(value))"
    }

    /// The initial value with its type beside it, if its spelling needs that.
    private var typedDefault: String? {
        // `.none` alone would be that of the optional parameter.
        defaultValue.map { isDefaultLiteral ? $0 : "\($0) as \(type)" }
    }

    /// The description of the attribute, or a list of them for an embedded struct.
    var schema: String {
        if isEmbedded { return schema(defaults: typedDefault.map { ", default: \($0)" } ?? "") }
        guard defaultValue != nil else { return schema(defaults: "") }
        let isKnown = isDefaultConstant && codedType == nil
        let value = isKnown ? typedDefault.map { ", default: \($0)" } ?? "" : ""
        return schema(defaults: ", hasDefault: true" + value)
    }

    /// The same for a part of an embedded struct, whose property has `value` to begin with.
    var partSchema: String {
        let given = "value?.\(identifier)"
        if isOptional { return schema(defaults: "") }
        guard let typedDefault else {
            let known = codedType == nil ? ", default: \(given)" : ""
            return schema(defaults: (isEmbedded ? "" : ", hasDefault: value != nil") + known)
        }
        let isKnown = isDefaultConstant && codedType == nil
        let known = isKnown ? ", default: \(given) ?? (\(typedDefault))" : ""
        return schema(defaults: (isEmbedded ? "" : ", hasDefault: true") + known)
    }

    private func schema(defaults: String) -> String {
        var text = isEmbedded ? "Backstitch.AttributeSchema._parts" : "Backstitch.AttributeSchema"
        text += "(\(name.literal), \(isReference ? "reference: " : "")\(storedType).self"
        if !options.isEmpty {
            text += ", options: [\(options.map { "." + $0 }.joined(separator: ", "))]"
        }
        if let originalName { text += ", originalName: \(originalName)" }
        if let serviceName { text += ", serviceName: \(serviceName)" }
        text += defaults
        if let deleteRule { text += ", onDelete: \(deleteRule)" }
        return text + ")"
    }

    private var content: String {
        codedType == nil ? "" : isOptional ? "?.content" : ".content"
    }

    /// Reads the attribute.
    func read(at position: String) -> String {
        let label = isEmbedded ? "embedded: " : isExternal ? "external: " : ""
        let fallback = defaultValue.map { ", default: " + stored($0, isOptional: false) } ?? ""
        return "fields.read(\(label)\(storedType).self, at: \(position)\(fallback))\(content)"
    }

    /// Reads a part of an embedded struct, or takes it from `value`.
    func readPart(at position: String) -> String {
        if isOptional { return read(at: position) }
        let given = "value()?.\(identifier)"
        let label =
            isEmbedded
            ? "embedded: " : isExternal ? "external: " : defaultValue == nil ? "part: " : ""
        let fallback =
            defaultValue.map { stored("\(given) ?? \($0)", isOptional: false) }
            ?? stored(codedType == nil ? given : "(\(given))", isOptional: true)
        return
            "fields.read(\(label)\(storedType).self, at: \(position), default: \(fallback))\(content)"
    }

    /// Writes the attribute.
    func write(at position: String) -> String {
        let value = stored("self.\(identifier)", isOptional: isOptional)
        let label = isEmbedded ? "embedded: " : isExternal ? "external: " : ""
        return "try fields.write(\(label)\(value), at: \(position))"
    }
}

extension [AttributeDeclaration] {
    /// The number of attributes that are stored, those of embedded structs among them.
    var storedCount: String { position(of: endIndex) }

    /// The position of an attribute: the number of those before it, after `start`.
    func position(of index: Int, from start: String? = nil) -> String {
        let embedded = self[..<index].filter(\.isEmbedded)
        let plain = index - embedded.count
        var terms = embedded.map { "Backstitch.AttributeSchema._partCount(of: \($0.type).self)" }
        if plain > 0 || start == nil && terms.isEmpty { terms.insert("\(plain)", at: 0) }
        return ([start].compactMap(\.self) + terms).joined(separator: " + ")
    }

    /// The list of the descriptions.
    func schemas(_ schema: (AttributeDeclaration) -> String) -> String {
        guard contains(where: \.isEmbedded) else { return map(schema).literal(indent: "    ") }
        let lists = map { $0.isEmbedded ? schema($0) : "[\(schema($0))]" }
        return lists.literal(indent: "    ") + ".flatMap { $0 }"
    }

    /// The positions by key path.
    var indexes: String {
        let entries = indices.filter { !self[$0].isEmbedded }.map {
            "\\Self.\(self[$0].identifier): \(position(of: $0))"
        }
        let plain = entries.isEmpty ? "[:]" : entries.literal(indent: "")
        let parts = indices.filter { self[$0].isEmbedded }.map {
            "\n    Backstitch.AttributeSchema._partIndexes("
                + "of: \\Self.\(self[$0].identifier), at: \(position(of: $0)))"
        }
        if parts.isEmpty { return plain }
        return "Backstitch.AttributeSchema._indexes(\n    "
            + "\(([plain] + parts).joined(separator: ",")))"
    }
}

extension [String] {
    /// A list literal with a line for each element.
    func literal(indent: String) -> String {
        if isEmpty { return "[]" }
        let lines = map { "\(indent)    \($0),\n" }.joined()
        return "[\n\(lines)\(indent)]"
    }
}

extension String {
    /// The string as a Swift literal.
    var literal: String { StringLiteralExprSyntax(content: self).description }
}
