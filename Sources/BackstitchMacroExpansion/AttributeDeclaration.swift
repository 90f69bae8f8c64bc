import SwiftSyntax

/// A stored attribute as the source declares it.
struct AttributeDeclaration {
    /// The property's name as the source writes it, with backticks if it has them.
    var identifier: String
    /// The name in the schema.
    var name: String
    /// The name as an argument label, if only few words need backticks.
    var label: String {
        let isWord = name.allSatisfy { $0 == "_" || $0.isLetter || $0.isNumber }
        return isWord && !["var", "let", "inout"].contains(name) ? name : identifier
    }

    /// The type as the source writes it, or the type of the literal that the property starts with.
    var type: String
    /// The first name, if the property was renamed, as a literal.
    var originalName: String?
    /// The name of its field on the service, if that is another one, as a literal.
    var serviceName: String?
    /// The name of its field, as a literal.
    var fieldLiteral: String { serviceName ?? originalName ?? "\"\(name)\"" }
    /// For a value that is stored as JSON: the type without `?`.
    var codedType: String?
    /// Whether the type is spelled as the id of an entity.
    var isReference = false
    /// Whether it is a struct whose parts are attributes.
    var isEmbedded = false
    /// Whether its bytes are kept in a file.
    var isExternal: Bool { options.contains("external") }
    /// Whether nil is a value of the type.
    var isOptional = false
    /// The initial value, which stands in where a row lacks the attribute.
    ///
    /// Nil for optionals: a row keeps no trace of a nil, so a default would replace it.
    var defaultValue: String?
    /// Whether the initial value is the same each time, so that queries can see it in the schema.
    var isDefaultConstant = false
    /// Whether the initial value is a literal that needs no type beside it.
    var isDefaultLiteral = false
    /// The names of the options.
    var options: [String] = []
    /// The delete rule's source, if one is given.
    var deleteRule: String?
}

/// A to-many relationship as the source declares it.
struct ToManyDeclaration {
    /// The name as the source writes it.
    var identifier: String
    /// The name in the schema.
    var name: String
    /// The key path of the reference that points back.
    var inverse: String
}

/// A type that the macro can judge by its spelling alone.
enum AttributeSpelling: Equatable {
    /// A type that can be stored, by its own name, with or without `?`.
    case supported(String, isOptional: Bool)
    /// The id of an entity, with or without `?`.
    case reference(isOptional: Bool)
    /// A list of a type that can be stored, by its own name, or of one that the macro can't judge.
    case list(of: String?, isOptional: Bool)
    /// A name the macro can't judge, such as a type alias; the compiler checks its conformance.
    case unknown
    /// A type that can't be stored.
    case unsupported
    /// `T!`, by the spelling of `T`.
    case implicitlyUnwrapped(String)
    /// `T??`, by the spelling of `T?`.
    case nestedOptional(String)

    static let supportedNames: Set<String> = [
        "String", "Bool", "Int", "Int16", "Int32", "Int64", "Float", "Double", "Decimal", "Date",
        "Data", "UUID", "URL", "GeoLocation", "Duration", "Asset",
    ]

    private static let unsupportedNames: Set<String> = [
        "Int8", "Int128", "UInt", "UInt8", "UInt16", "UInt32", "UInt64", "UInt128", "Float16",
        "Float80", "CGFloat", "Character", "Unicode.Scalar", "Substring", "StaticString", "Any",
        "AnyObject", "AnyHashable", "Void", "Never", "ContiguousArray", "ArraySlice",
        "InlineArray", "Set", "Dictionary", "Range", "ClosedRange", "Result",
    ]

    init(_ type: TypeSyntax) {
        let type = type.unparenthesized
        if let unwrapped = type.as(ImplicitlyUnwrappedOptionalTypeSyntax.self) {
            self = .implicitlyUnwrapped(unwrapped.wrappedType.trimmedDescription)
        } else if let wrapped = type.wrappedType?.unparenthesized {
            if wrapped.wrappedType != nil {
                self = .nestedOptional(wrapped.trimmedDescription)
            } else {
                self = Self(named: wrapped, isOptional: true)
            }
        } else {
            self = Self(named: type, isOptional: false)
        }
    }

    private init(named type: TypeSyntax, isOptional: Bool) {
        if let element = type.listElement?.unparenthesized {
            self = Self(listOf: element, isOptional: isOptional)
            return
        }
        guard let name = type.lastName else {
            self = .unsupported
            return
        }
        let isPlain = type.is(IdentifierTypeSyntax.self)
        let module = type.as(MemberTypeSyntax.self)?.baseType.lastName
        if Self.supportedNames.contains(name),
            isPlain
                || ["Swift", "Foundation", "FoundationEssentials", "Backstitch"].contains(module)
        {
            self = .supported(name, isOptional: isOptional)
        } else if Self.unsupportedNames.contains(name), isPlain || module == "Swift" {
            self = .unsupported
        } else if name == "ID" || name == "EntityID" {
            self = .reference(isOptional: isOptional)
        } else {
            self = .unknown
        }
    }

    /// Lists hold scalars: no optionals, lists or ids.
    private init(listOf element: TypeSyntax, isOptional: Bool) {
        guard element.wrappedType == nil, element.listElement == nil else {
            self = .unsupported
            return
        }
        switch Self(named: element, isOptional: false) {
        case .supported(let name, _): self = .list(of: name, isOptional: isOptional)
        case .unknown: self = .list(of: nil, isOptional: isOptional)
        default: self = .unsupported
        }
    }

    /// Whether nil is a value of the type, as far as its spelling tells.
    var isOptional: Bool {
        switch self {
        case .supported(_, let isOptional), .reference(let isOptional), .list(_, let isOptional):
            isOptional
        case .unknown, .unsupported, .implicitlyUnwrapped, .nestedOptional:
            false
        }
    }
}

extension ExprSyntax {
    /// Whether the value is a literal of a number, a truth value or text without interpolation.
    var isPlainLiteral: Bool {
        if let string = self.as(StringLiteralExprSyntax.self) {
            return string.segments.allSatisfy { $0.is(StringSegmentSyntax.self) }
        }
        return literalTypeName != nil && !self.is(FunctionCallExprSyntax.self)
    }

    /// The name of the type that a literal, or a call of a known type without arguments, has.
    var literalTypeName: String? {
        if self.is(BooleanLiteralExprSyntax.self) { return "Bool" }
        if self.is(IntegerLiteralExprSyntax.self) { return "Int" }
        if self.is(FloatLiteralExprSyntax.self) { return "Double" }
        if self.is(StringLiteralExprSyntax.self) { return "String" }
        if let negative = self.as(PrefixOperatorExprSyntax.self), negative.operator.text == "-" {
            let name = negative.expression.literalTypeName
            return name == "Int" || name == "Double" ? name : nil
        }
        if let call = self.as(FunctionCallExprSyntax.self), call.arguments.isEmpty,
            call.trailingClosure == nil,
            let called = call.calledExpression.as(DeclReferenceExprSyntax.self)?.baseName.text,
            AttributeSpelling.supportedNames.contains(called)
        {
            return called
        }
        return nil
    }
}
