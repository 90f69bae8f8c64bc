import SwiftDiagnostics
import SwiftSyntax

extension AttributeSyntax {
    /// The macro's name without its module.
    var name: String? { attributeName.lastName }

    /// The arguments in parentheses.
    var argumentList: [LabeledExprSyntax] {
        arguments?.as(LabeledExprListSyntax.self).map(Array.init) ?? []
    }

    /// The argument with a label.
    func argument(_ label: String) -> ExprSyntax? {
        argumentList.first { $0.label?.text == label }?.expression
    }
}

extension AttributeListSyntax {
    /// The attributes of a name, with or without the module in front.
    func named(_ name: String) -> [AttributeSyntax] {
        compactMap { $0.as(AttributeSyntax.self) }.filter { $0.name == name }
    }
}

extension TokenSyntax {
    /// The name without backticks.
    var plainText: String { identifier?.name ?? text }
}

extension TypeSyntax {
    /// The last part of a type's name; nil for types that have none, such as tuples.
    var lastName: String? {
        let name =
            self.as(IdentifierTypeSyntax.self)?.name ?? self.as(MemberTypeSyntax.self)?.name
        return name?.plainText
    }

    /// The generic arguments of the last part of a type's name.
    var genericArguments: [TypeSyntax] {
        let clause =
            self.as(IdentifierTypeSyntax.self)?.genericArgumentClause
            ?? self.as(MemberTypeSyntax.self)?.genericArgumentClause
        return clause?.arguments.compactMap { $0.argument.as(TypeSyntax.self) } ?? []
    }

    /// The type inside `T?` or `Optional<T>`.
    var wrappedType: TypeSyntax? {
        if let type = self.as(OptionalTypeSyntax.self) { return type.wrappedType }
        return lastName == "Optional" ? genericArguments.first : nil
    }

    /// The type inside parentheses that hold nothing else.
    var unparenthesized: TypeSyntax {
        guard let tuple = self.as(TupleTypeSyntax.self), let element = tuple.elements.first,
            tuple.elements.count == 1, element.firstName == nil
        else { return self }
        return element.type.unparenthesized
    }

    /// The `T` of `[T]` or `Array<T>`.
    var listElement: TypeSyntax? {
        if let list = self.as(ArrayTypeSyntax.self) { return list.element }
        return lastName == "Array" ? genericArguments.first : nil
    }

    /// The `T` of `ToMany<T>`.
    var toManyTarget: TypeSyntax? { lastName == "ToMany" ? genericArguments.first : nil }

    /// For an integer type that can't be stored: the one that can, with the same `?`.
    var unsupportedInteger: String? {
        let integers: Set = ["Int8", "UInt", "UInt8", "UInt16", "UInt32", "UInt64"]
        guard let wrapped = unparenthesized.wrappedType else {
            return lastName.map(integers.contains) == true ? "Int64" : nil
        }
        return wrapped.unsupportedInteger.map { $0 + "?" }
    }
}

extension ExprSyntax {
    /// Whether this is a key path that begins with a type.
    func isKeyPath(from target: TypeSyntax) -> Bool {
        guard let keyPath = self.as(KeyPathExprSyntax.self), let root = keyPath.root else {
            return false
        }
        // A nested type, `\Outer.Inner.reference`, parses as the root `Outer` and two components.
        let names =
            [root.lastName]
            + keyPath.components.dropLast().map {
                $0.component.as(KeyPathPropertyComponentSyntax.self)?.declName.baseName.plainText
            }
        return names.contains(target.lastName)
    }
}

extension VariableDeclSyntax {
    /// Whether the property belongs to the type and not to its values.
    var isStatic: Bool { hasModifier(.static) || hasModifier(.class) }

    /// Whether the declaration has a modifier.
    func hasModifier(_ keyword: Keyword) -> Bool {
        modifiers.contains { $0.name.tokenKind == .keyword(keyword) }
    }

    /// A fix-it that declares the property with `var` or `let`.
    func replacingSpecifier(with keyword: Keyword) -> FixIt {
        let token = bindingSpecifier.with(\.tokenKind, .keyword(keyword))
        return FixIt(
            message: Remedy("replace '\(bindingSpecifier.text)' with '\(token.text)'"),
            changes: [.replace(oldNode: Syntax(bindingSpecifier), newNode: Syntax(token))])
    }
}

extension PatternBindingSyntax {
    /// Whether the property computes its value; one with observers only is stored.
    var isComputed: Bool {
        guard let block = accessorBlock else { return false }
        guard let accessors = block.accessors.as(AccessorDeclListSyntax.self) else { return true }
        return !accessors.allSatisfy {
            [.keyword(.willSet), .keyword(.didSet)].contains($0.accessorSpecifier.tokenKind)
        }
    }

    /// The binding with its type only.
    var withoutInitializer: PatternBindingSyntax {
        var binding = self
        binding.initializer = nil
        binding.typeAnnotation = typeAnnotation.map { $0.with(\.trailingTrivia, trailingTrivia) }
        return binding
    }
}
