import SwiftDiagnostics
import SwiftSyntax
import SwiftSyntaxBuilder

extension TypeSyntax {
    /// A fix-it that writes another type in place of this one.
    func replacing(with spelling: String) -> FixIt {
        let type = TypeSyntax("\(raw: spelling)")
            .with(\.leadingTrivia, leadingTrivia)
            .with(\.trailingTrivia, trailingTrivia)
        return FixIt(
            message: Remedy("replace '\(trimmedDescription)' with '\(spelling)'"),
            changes: [.replace(oldNode: Syntax(self), newNode: Syntax(type))])
    }
}

extension VariableDeclSyntax {
    /// A fix-it that takes an attribute away.
    func removing(_ attribute: AttributeSyntax) -> FixIt {
        var declaration = self
        declaration.attributes = attributes.filter { $0.id != attribute.id }
        declaration.leadingTrivia = leadingTrivia
        return FixIt(
            message: Remedy("remove '\(attribute.trimmedDescription)'"),
            changes: [.replace(oldNode: Syntax(self), newNode: Syntax(declaration))])
    }

    /// A fix-it that adds `@Attribute` with an option.
    func addingOption(_ option: String) -> FixIt {
        adding("@Attribute(\(option))")
    }

    /// A fix-it that adds `@Relationship(onDelete:)`.
    func addingRule(_ rule: String) -> FixIt {
        adding("@Relationship(onDelete: \(rule))")
    }

    private func adding(_ mark: String) -> FixIt {
        var declaration = self
        declaration.leadingTrivia = []
        let attribute = AttributeSyntax("\(raw: mark)")
        declaration.attributes.insert(
            .attribute(attribute.with(\.trailingTrivia, .space)),
            at: declaration.attributes.startIndex)
        declaration.leadingTrivia = leadingTrivia
        return FixIt(
            message: Remedy("add '\(mark)'"),
            changes: [.replace(oldNode: Syntax(self), newNode: Syntax(declaration))])
    }

    /// A fix-it that chooses another delete rule.
    func replacingRule(of attribute: AttributeSyntax, with rule: String) -> FixIt {
        let replacement = AttributeSyntax("@Relationship(onDelete: \(raw: rule))")
            .with(\.leadingTrivia, attribute.leadingTrivia)
            .with(\.trailingTrivia, attribute.trailingTrivia)
        return FixIt(
            message: Remedy("choose '\(rule)'"),
            changes: [.replace(oldNode: Syntax(attribute), newNode: Syntax(replacement))])
    }
}

extension StructDeclSyntax {
    /// A fix-it that adds the identity as the first member.
    var insertingID: FixIt {
        let members = memberBlock.members
        let first = members.first?.leadingTrivia.filter { $0.isNewline || $0.isSpaceOrTab }
        let lead = first.map { Trivia(pieces: $0).lastLine } ?? [.newlines(1), .spaces(4)]
        let isClosed = memberBlock.rightBrace.leadingTrivia.contains { $0.isNewline }
        let id = MemberBlockItemSyntax(
            leadingTrivia: lead, decl: DeclSyntax("var id = ID()"),
            trailingTrivia: members.isEmpty && !isClosed ? .newline : [])
        return FixIt(
            message: Remedy("add 'var id = ID()'"),
            changes: [
                .replace(
                    oldNode: Syntax(members),
                    newNode: Syntax(MemberBlockItemListSyntax([id] + Array(members))))
            ])
    }
}

extension ClassDeclSyntax {
    /// A fix-it that declares a struct, without the modifiers that only classes have.
    var replacingClass: FixIt {
        var kept = modifiers.filter {
            ![.keyword(.final), .keyword(.open)].contains($0.name.tokenKind)
        }
        var keyword = classKeyword.with(\.tokenKind, .keyword(.struct))
        if kept.isEmpty, !modifiers.isEmpty {
            keyword.leadingTrivia = modifiers.leadingTrivia
        } else {
            kept.leadingTrivia = modifiers.leadingTrivia
        }
        return FixIt(
            message: Remedy("replace 'class' with 'struct'"),
            changes: [
                .replace(oldNode: Syntax(modifiers), newNode: Syntax(kept)),
                .replace(oldNode: Syntax(classKeyword), newNode: Syntax(keyword)),
            ])
    }
}

extension Trivia {
    /// One newline, if there are any, and the indentation behind the last one.
    fileprivate var lastLine: Trivia {
        guard let newline = pieces.lastIndex(where: \.isNewline) else { return self }
        return Trivia(pieces: [.newlines(1)] + pieces[pieces.index(after: newline)...])
    }
}
