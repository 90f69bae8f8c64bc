import SwiftSyntax

extension ExprSyntax {
    /// Whether evaluating the expression gives the same each time, as far as its spelling tells.
    ///
    /// Literals do, lists of what does, members but for `now`, and known types made of what does;
    /// a new `Date()` or `UUID()` does not.
    var isConstant: Bool {
        if isPlainLiteral { return true }
        if let list = self.as(ArrayExprSyntax.self) {
            return list.elements.allSatisfy(\.expression.isConstant)
        }
        if let unwrapped = self.as(ForceUnwrapExprSyntax.self) {
            return unwrapped.expression.isConstant
        }
        if let member = self.as(MemberAccessExprSyntax.self) {
            return member.declName.baseName.text != "now" && (member.base?.isName ?? true)
        }
        if let call = self.as(FunctionCallExprSyntax.self) { return call.makesConstant }
        return false
    }

    /// Whether the expression makes a value of a struct from constants.
    func isConstantCall(of type: TypeSyntax) -> Bool {
        guard let call = self.as(FunctionCallExprSyntax.self), call.trailingClosure == nil,
            call.calledExpression.trimmedDescription == type.trimmedDescription
        else { return false }
        return call.arguments.allSatisfy(\.expression.isConstant)
    }

    /// Whether the expression names a type or a member of one.
    private var isName: Bool {
        if self.is(DeclReferenceExprSyntax.self) { return true }
        return self.as(MemberAccessExprSyntax.self)?.base?.isName ?? false
    }
}

extension FunctionCallExprSyntax {
    fileprivate var makesConstant: Bool {
        guard let type = calledExpression.as(DeclReferenceExprSyntax.self)?.baseName.text,
            AttributeSpelling.supportedNames.contains(type), trailingClosure == nil
        else { return false }
        if arguments.isEmpty { return type != "Date" && type != "UUID" }
        return arguments.allSatisfy {
            $0.label?.text != "timeIntervalSinceNow" && $0.expression.isConstant
        }
    }
}
