import SwiftDiagnostics
import SwiftParser
import SwiftSyntax

extension StoredProperty {
    /// The arguments of `@Attribute` that are options.
    fileprivate var optionArguments: [LabeledExprSyntax] {
        variable.attributes.named("Attribute").flatMap(\.argumentList).filter { $0.label == nil }
    }

    /// Whether the property is not stored.
    var isTransient: Bool { hasOption("transient") }

    /// Whether the property is stored in parts.
    var isEmbedded: Bool { hasOption("embedded") }

    /// The type of an embedded struct whose initial value is a call of it.
    var embeddedCallName: String? {
        guard isEmbedded, let call = initializer?.as(FunctionCallExprSyntax.self) else {
            return nil
        }
        let name = call.calledExpression.trimmedDescription
        return name.first?.isUppercase == true ? name : nil
    }

    private func hasOption(_ name: String) -> Bool {
        optionArguments.contains { $0.expression.optionName == name }
    }
}

extension ExprSyntax {
    /// The name of an option: `.indexed`, with or without its type.
    fileprivate var optionName: String? {
        self.as(MemberAccessExprSyntax.self)?.declName.baseName.text
    }
}

extension EntityReading {
    private static let optionNames: Set<String> = [
        "indexed", "unique", "lossless", "localOnly", "notUploaded", "notDownloaded", "transient",
        "codable", "embedded", "external", "afterwards",
    ]

    /// Reads the names of the options and notes those that don't fit the type.
    mutating func readOptions(
        _ property: StoredProperty, _ spelling: AttributeSpelling
    ) -> [String] {
        var options: [String] = []
        for argument in property.optionArguments {
            let expression = argument.expression
            let text = expression.trimmedDescription
            guard let name = expression.optionName, Self.optionNames.contains(name) else {
                report(.unknownOption(text), at: expression)
                continue
            }
            if options.contains(name) {
                report(.duplicateOption(text), at: expression)
                continue
            }
            options.append(name)
        }
        let isCoded = options.contains("codable")
        for argument in property.optionArguments {
            guard let name = argument.expression.optionName else { continue }
            reportMisfit(name, spelling, isCoded: isCoded, at: argument.expression)
            reportRedundantMask(name, among: options, at: argument.expression)
            reportFileOption(name, spelling, among: options, at: argument.expression)
        }
        if options.contains("embedded"), options.count > 1 {
            report(.embeddedHasOptions(property.name), at: property.identifier)
        }
        return options
    }

    private mutating func reportMisfit(
        _ option: String, _ spelling: AttributeSpelling, isCoded: Bool, at expression: ExprSyntax
    ) {
        switch (option, spelling) {
        case ("embedded", .supported(let type, _)):
            report(.embeddedNeedsStruct(type), at: expression)
        case ("embedded", .reference):
            report(.embeddedNeedsStruct("ID"), at: expression)
        case ("embedded", .list):
            report(.embeddedNeedsStruct("A list"), at: expression)
        case ("lossless", .supported("Decimal", _)), ("lossless", .list("Decimal", _)),
            ("lossless", .unknown), ("lossless", .list(nil, _)):
            break
        case ("lossless", .supported(let type, _)):
            report(.losslessNeedsDecimal(type), at: expression)
        case ("lossless", .reference):
            report(.losslessNeedsDecimal("ID"), at: expression)
        case ("lossless", .list(.some(let type), _)):
            report(.losslessNeedsDecimal("[\(type)]"), at: expression)
        case ("indexed", _) where isCoded, ("unique", _) where isCoded:
            report(.unordered(option: option, what: "a coded value"), at: expression)
        case ("indexed", .supported("Data", _)):
            report(.dataIndexed("Data"), at: expression)
        case ("unique", .supported("Data", _)):
            report(.unordered(option: option, what: "Data"), at: expression)
        case ("indexed", .supported("GeoLocation", _)), ("unique", .supported("GeoLocation", _)):
            report(.unordered(option: option, what: "a GeoLocation"), at: expression)
        case ("indexed", .supported("Asset", _)), ("unique", .supported("Asset", _)):
            report(.unordered(option: option, what: "an Asset"), at: expression)
        case ("indexed", .list), ("unique", .list):
            report(.unordered(option: option, what: "a list"), at: expression)
        default:
            break
        }
    }

    /// Notes an option of files at what is none.
    private mutating func reportFileOption(
        _ option: String, _ spelling: AttributeSpelling, among options: [String],
        at expression: ExprSyntax
    ) {
        let isExternal = options.contains("external")
        switch (option, spelling) {
        case ("external", .supported("Data", _)) where !options.contains("codable"),
            ("afterwards", .supported("Asset", _)), ("afterwards", .list("Asset", _)):
            break
        case ("external", _):
            report(.externalNeedsData, at: expression)
        case ("afterwards", _) where !isExternal:
            report(.afterwardsNeedsFile, at: expression)
        default:
            break
        }
    }

    /// The literal of `originalName`.
    mutating func readOriginalName(_ property: StoredProperty) -> String? {
        let marks = property.variable.attributes.named("Attribute")
        guard let value = marks.lazy.compactMap({ $0.argument("originalName") }).first else {
            return nil
        }
        let literal = value.as(StringLiteralExprSyntax.self)?.representedLiteralValue
        guard let literal, !literal.isEmpty else {
            report(.originalNameNotLiteral, at: value)
            return nil
        }
        if literal == property.name { report(.originalNameIsName(literal), at: value) }
        if !literal.isServiceName { report(.nameNotAllowed(literal), at: value) }
        return value.trimmedDescription
    }

    /// The literal of `serviceName`.
    mutating func readServiceName(_ property: StoredProperty, options: [String]) -> String? {
        let marks = property.variable.attributes.named("Attribute")
        guard let value = marks.lazy.compactMap({ $0.argument("serviceName") }).first else {
            return nil
        }
        let literal = value.as(StringLiteralExprSyntax.self)?.representedLiteralValue
        guard let literal, !literal.isEmpty else {
            report(.serviceNameNotLiteral, at: value)
            return nil
        }
        if !literal.isServiceName { report(.nameNotAllowed(literal), at: value) }
        if let original = marks.lazy.compactMap({ $0.argument("originalName") }).first {
            report(.serviceNameAndOriginalName, at: original)
        } else if options.contains("localOnly") || isWithoutExchange(options) {
            report(.serviceNameOfLocalOnly(property.name), at: value)
        }
        return value.trimmedDescription
    }

    private func isWithoutExchange(_ options: [String]) -> Bool {
        options.contains("notUploaded") && options.contains("notDownloaded")
    }

    /// Notes a mask that another option says already.
    private mutating func reportRedundantMask(
        _ option: String, among options: [String], at expression: ExprSyntax
    ) {
        guard ["notUploaded", "notDownloaded"].contains(option) else { return }
        if options.contains("localOnly") {
            report(.maskOfLocalOnly(option: option), at: expression)
        } else if option == "notDownloaded", isWithoutExchange(options) {
            report(.masksTogether, at: expression)
        }
    }

    /// Notes an attribute whose options need another default.
    mutating func reportNeeds(
        of attribute: AttributeDeclaration, _ type: TypeSyntax, _ spelling: AttributeSpelling,
        _ property: StoredProperty
    ) {
        let isList = if case .list = spelling { true } else { false }
        let mask = ["localOnly", "notUploaded", "notDownloaded"].first(
            where: attribute.options.contains)
        if let mask, attribute.defaultValue == nil, !attribute.isOptional, !isList {
            let fix = type.replacing(with: "\(attribute.type)?")
            report(.maskNeedsValue(attribute.name, option: mask), at: type, fixIts: [fix])
        }
        let isIndexed = !Set(attribute.options).isDisjoint(with: ["indexed", "unique"])
        if isIndexed, let value = property.initializer, attribute.defaultValue != nil,
            !attribute.isDefaultConstant
        {
            report(.indexedDefaultVaries(attribute.name), at: value)
        }
    }

    /// Notes what is wrong with a property that is not stored; it is no attribute.
    mutating func readTransient(_ property: StoredProperty) {
        let isVariable = property.variable.bindingSpecifier.tokenKind == .keyword(.var)
        let isOptional = property.type?.unparenthesized.wrappedType != nil
        if property.initializer == nil, !(isVariable && isOptional) {
            report(.transientNeedsValue(property.name), at: property.identifier)
        }
        let marks = ["Attribute", "Relationship"].flatMap(property.variable.attributes.named)
        if marks.flatMap(\.argumentList).count > 1 {
            report(.transientHasOptions(property.name), at: marks[0])
        }
    }
}

extension AttributeDeclaration {
    /// Takes over the initial value of a property that is not optional.
    mutating func takeDefault(_ initializer: ExprSyntax?) {
        defaultValue = initializer?.trimmedDescription
        isDefaultLiteral = initializer?.isPlainLiteral ?? false
        isDefaultConstant = initializer?.isConstant ?? false
    }
}

extension String {
    /// Whether the service allows the name, as CloudKit's reference says of field names.
    var isServiceName: Bool {
        let letters = UInt8(ascii: "a")...UInt8(ascii: "z")
        let digits = UInt8(ascii: "0")...UInt8(ascii: "9")
        func isLetter(_ byte: UInt8) -> Bool { letters.contains(byte | 0x20) }
        guard let first = utf8.first, isLetter(first), utf8.count <= 255 else { return false }
        return utf8.allSatisfy {
            isLetter($0) || digits.contains($0) || $0 == UInt8(ascii: "_")
        }
    }
}
